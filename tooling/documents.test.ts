/** Files, links and commands that the documents name exist. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { repositoryRoot } from './set-up.mjs';

const read = (path: string): string => readFileSync(join(repositoryRoot, path), 'utf8');
const files = execFileSync('git', ['ls-files'], { cwd: repositoryRoot, encoding: 'utf8' }).trim().split('\n');
/** Without the changelog: it names files that are gone. */
const documents = files.filter((path) => path.endsWith('.md') && path !== 'CHANGELOG.md');
const folders = new Set(
  files.flatMap((path) => path.split('/').map((_, depth, parts) => parts.slice(0, depth).join('/'))),
);
const exists = (name: string): boolean =>
  folders.has(name) || files.some((path) => path === name || path.endsWith(`/${name}`));

/** Text in backticks, and lines of shell blocks. */
const codeIn = (text: string): string[] => [
  ...[...text.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code),
  ...[...text.matchAll(/^```sh\n(.*?)^```/gms)].flatMap(([, block = '']) => block.split('\n')),
];

/** The anchors that GitHub makes from headings. */
const anchorsOf = (text: string): string[] =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

describe.each(documents)('%s', (document) => {
  const text = read(document);

  it('has no broken link', () => {
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, to = '']) => to);
    const broken = links.filter((link) => {
      if (/^[a-z]+:/.test(link)) return false;
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? document : normalize(join(dirname(document), path));
      if (!existsSync(join(repositoryRoot, target))) return true;
      return anchor !== undefined && !anchorsOf(read(target)).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  it('names sources that exist', () => {
    const isOurs = /^(?:(?:packages|apps|tooling|tests|bench|docs)\/[\w./-]+|[\w./-]+\.(?:ts|tsx|mjs|el))$/;
    const named = codeIn(text)
      .filter((code) => isOurs.test(code))
      .map((code) => code.replace(/\/$/, ''));
    // Diagrams name files without backticks.
    const drawn = document === 'docs/architecture.md' ? (text.match(/[\w./-]+\.ts\b/g) ?? []) : [];
    expect([...named, ...drawn].filter((name) => !exists(name))).toEqual([]);
  });

  it('names commands that exist, with options that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const code = codeIn(text);
    const named = code.flatMap((line) =>
      [...line.matchAll(/\bnpm run ([\w:-]+)/g)].map(([, name = '']) => name),
    );
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
    const wrong = code.flatMap((line) => {
      const [, command = '', rest = ''] = /^(?:npx )?countersign ([a-z-]+)([^|<>#]*)/.exec(line) ?? [];
      if (command === '') return [];
      if (!commands.includes(command)) return [command];
      const options = rest.match(/(?<= )--[a-z-]+/g) ?? [];
      return options
        .filter((option) => !optionsOf(command).includes(option))
        .map((option) => `${command} ${option}`);
    });
    expect(wrong).toEqual([]);
  });
});

const commands = [...read('apps/cli/src/main.ts').matchAll(/^ {2}'?([a-z-]+)'?: async \(\) => /gm)].map(
  ([, name = '']) => name,
);
let helpTexts: ReadonlyMap<string, string> | undefined;

/** The options that the command's own help names. */
function optionsOf(command: string): readonly string[] {
  helpTexts ??= readHelpTexts();
  return helpTexts.get(command)?.match(/--[a-z-]+/g) ?? [];
}

/** All help texts from one process: starting one for each command takes half a minute on a busy machine. */
function readHelpTexts(): ReadonlyMap<string, string> {
  const separator = '\f';
  const program = `
    import { main } from ${JSON.stringify(pathToFileURL(join(repositoryRoot, 'apps/cli/src/main.ts')))};
    process.stdout.setMaxListeners(0); // each command adds one
    for (const command of ${JSON.stringify(commands)}) {
      await main([command, '--help']);
      process.stdout.write(${JSON.stringify(separator)});
    }`;
  // On standard input: `serve` passes Node's options, such as --eval, on to its child.
  const printed = execFileSync(process.execPath, { input: program, encoding: 'utf8' });
  return new Map(commands.map((command, index) => [command, printed.split(separator)[index] ?? '']));
}
