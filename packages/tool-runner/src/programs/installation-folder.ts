import { dirname, join } from 'node:path';
import { isInside } from '../isolation/fixed-path.ts';

/** Where version managers and installers put what belongs to one program, below the home folder; `*` is any name. */
const installations =
  `.rustup .cargo/bin .nvm/versions/node/* .pyenv .rbenv .asdf .volta .deno .bun .sdkman .ghcup .opam
  .juliaup .dotnet .poetry go .local/share/mise .local/share/rtx .local/share/fnm .local/share/uv .local/share/pipx
  .local/share/pypoetry .local/share/pnpm .local/share/virtualenvs .local/share/nvim/mason .local/lib .local/bin
  .local/opt/* .npm-global .yarn/bin .config/yarn/global .linuxbrew miniconda3 anaconda3 mambaforge miniforge3`
    .split(/\s+/)
    .map((pattern) => pattern.split('/'));

/** Names of folders for programs: what they need is usually beside them, in `lib` or `share`. */
const programFolderNames = new Set(['bin', 'sbin', 'shims', 'libexec']);

/**
 * Returns the folders that a program may need, the best first: that of its version manager, `/opt/NAME`, what is around its
 * `bin`, or just its own folder.
 */
export function installationFolders(program: string, home: string): readonly string[] {
  const folder = dirname(program);
  const around = programFolderNames.has(folder.slice(folder.lastIndexOf('/') + 1)) ? [dirname(folder)] : [];
  return [...managed(program, home), ...around, folder];
}

function managed(program: string, home: string): string[] {
  const optional = /^\/opt\/[^/]+(?=\/)/.exec(program)?.[0];
  if (optional !== undefined) return [optional];
  if (!isInside(home, program)) return [];
  const names = program.slice(home.length + 1).split('/');
  const found = installations.find(
    (pattern) =>
      pattern.length < names.length && pattern.every((name, at) => name === '*' || name === names[at]),
  );
  return found ? [join(home, ...names.slice(0, found.length))] : [];
}
