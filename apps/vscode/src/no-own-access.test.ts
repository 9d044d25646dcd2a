/** "No file system or process access outside tool-runner": the extension's own code imports neither. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const sources = globSync('**/*.{ts,tsx}', { cwd: import.meta.dirname }).filter(
  (path) => !/\.test(-data)?\.tsx?$/.test(path),
);
const forbidden =
  /['"](node:)?(fs|fs\/promises|child_process|worker_threads|cluster|sqlite|net|vm)['"]|workspace\.fs\b|\beval\(|new Function\(/;

describe('the extension', () => {
  it('touches no file and starts no process by itself', () => {
    const offenders = sources.filter((path) =>
      forbidden.test(readFileSync(join(import.meta.dirname, path), 'utf8')),
    );
    expect([sources.length > 30, offenders]).toEqual([true, []]);
  });

  it('would notice', () => {
    expect(
      ["from 'node:fs'", "require('child_process')", 'vscode.workspace.fs.readFile'].every((text) =>
        forbidden.test(text),
      ),
    ).toBe(true);
  });
});
