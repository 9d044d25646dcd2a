import { hasHole, readable } from '../program/marks.ts';
import { refuse } from '../verdict.ts';
import { absoluteComponents, relativeInside } from '../workspace-path.ts';
import { writeRuleFor } from '../write-rules.ts';
import type { ShellRun } from './shell-run.ts';
import { resolvePlaces } from './word-paths.ts';

/**
 * TL-4 for shell lines: a line that writes content of its choosing under the name of a binary is refused, as in
 * `write_file`. Only HIGH, not refused: programs whose purpose is to make such files (compilers, linkers, `make`,
 * archivers, `dd` for disk images), because people ask for builds and the content is the program's; and commands that give
 * a file no content (`touch`, `mkdir`, `chmod`, `rm`).
 */
export const binaryNames = {
  refused: [
    'echo x > tool.exe',
    'cat a >> lib/x.so',
    'cp a b.dll',
    'mv a b.EXE',
    'tee x.bin < a',
    'install -m 755 a bin/t.exe',
    'ln -s a b.so',
    "sed -i 's/a/b/' x.sys",
    'sort -o x.bin f',
    'curl -o t.exe http://h',
    'cp lib/x.so out/',
    'cp -t out lib/x.so',
    'printf a | sponge x.bin',
    'f=x; echo a > $f.exe',
    'sh -c "echo a > x.so"',
  ],
  allowed: [
    'dd if=/dev/zero of=blank.bin bs=1k count=4',
    'gcc -shared -o libx.so x.c',
    'go build -o app.exe ./cmd',
    'rm -f old.exe',
    'touch x.bin',
    'chmod +x t.bin',
    'ls x.exe > list.txt',
    'cp x.so.txt y.txt',
    'mv a.exe a.old',
    'echo x > /tmp/y.exe',
    'cat a.bin | wc -c',
  ],
} as const;

/** Refuses to write a file of the workspace whose name is that of a binary. */
export function refuseBinaryName(run: ShellRun, path: string): void {
  const rule = writeRuleFor(path);
  if (rule.effect !== 'REJECT') return;
  const root = absoluteComponents(run.paths.root);
  const isInside = resolvePlaces(run, path).some(
    (place) => hasHole(place) || relativeInside(root, absoluteComponents(place)) !== undefined,
  );
  if (!isInside) return;
  const shown = readable(path);
  const extension = shown.slice(shown.lastIndexOf('.'));
  const reason = { rule: rule.id, why: `"${shown}" ${rule.why}`, operand: shown };
  run.findings.refuseAs(refuse('EXTENSION_REFUSED', { path: shown, extension }, reason));
}
