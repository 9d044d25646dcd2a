/** Each package README says, in this order: what it is for, how it is used, which file to read first. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { repositoryRoot } from './set-up.mjs';

const packages = readdirSync(join(repositoryRoot, 'packages'));
const readmeOf = (name: string): string =>
  readFileSync(join(repositoryRoot, 'packages', name, 'README.md'), 'utf8');

/** The TypeScript examples of a README, each with the file extension that it needs. */
const examplesOf = (name: string): { extension: string; code: string }[] =>
  [...readmeOf(name).matchAll(/^```(tsx?)\n(.*?)^```/gms)].map(([, extension = '', code = '']) => ({
    extension,
    code,
  }));

describe.each(packages)('the README of %s', (name) => {
  it('says what the package is for, shows an example, names the file to read first', () => {
    const [, purpose = '', rest = ''] = /^# @countersign\/\S+\n\n(.+?)\n\n(.*)$/s.exec(readmeOf(name)) ?? [];
    expect(purpose).toMatch(/^[A-Z].*\.$/s);
    expect(rest).toMatch(/^```tsx?\n/);
    const [, file = ''] = /\n```\n\nRead `([^`]+)` first/.exec(rest) ?? [];
    expect(file).not.toBe('');
    expect(existsSync(join(repositoryRoot, 'packages', name, file))).toBe(true);
  });
});

it('every example in a package README type-checks', () => {
  // Inside the repository, so that imports resolve as in its packages.
  const folder = join(repositoryRoot, 'node_modules/.cache/readme-examples');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const name of packages) {
    for (const [i, { extension, code }] of examplesOf(name).entries()) {
      writeFileSync(join(folder, `${name}-${i}.${extension}`), `${code}\nexport {};\n`);
    }
  }
  const settings = {
    extends: join(repositoryRoot, 'tsconfig.base.json'),
    compilerOptions: {
      composite: false,
      emitDeclarationOnly: false,
      declaration: false,
      noEmit: true,
      types: ['node'],
      typeRoots: [join(repositoryRoot, 'node_modules/@types')],
      jsx: 'react-jsx',
      lib: ['ES2024', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
    },
    include: ['*.ts', '*.tsx'],
  };
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}\n');
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings));
  // A wrong example shows that the compiler ran.
  writeFileSync(join(folder, 'wrong.ts'), `import { nothing } from '@countersign/protocol';\nnothing();\n`);
  expect(typeErrors(folder)).toEqual([expect.stringContaining('wrong.ts(1,10): error TS2305')]);
});

/** The compiler's error lines for a folder. */
function typeErrors(folder: string): string[] {
  const compiler = join(repositoryRoot, 'node_modules/typescript/bin/tsc');
  const { stdout } = spawnSync(process.execPath, [compiler, '-p', folder], { encoding: 'utf8' });
  return stdout.trim().split('\n');
}
