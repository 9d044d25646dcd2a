import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PolicyFile, PolicyRule } from '@countersign/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PersonsPolicyFile } from './policy-file.ts';

let folder: string;
let file: PersonsPolicyFile;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-policy-')));
  file = new PersonsPolicyFile(join(folder, 'countersign/policy.json'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const rule = (id: string): PolicyRule => ({ id, effect: 'deny', tool: 'git_push' });
const adding =
  (id: string) =>
  (policy: PolicyFile): PolicyFile => ({ ...policy, rules: [...policy.rules, rule(id)] });
const ids = (): string[] => {
  const reading = file.read();
  return reading.ok ? reading.policy.file.rules.map(({ id }) => id) : [reading.problem];
};
const codeOf = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return (error as { code?: string }).code;
  }
};

describe("[RK-5] the person's own policy file", () => {
  it('is made when the first rule is saved, readable by the person alone', () => {
    expect(ids()).toEqual([]);
    expect(file.stamp()).toBe('missing');
    file.update(adding('a'));
    file.update(adding('b'));
    expect(ids()).toEqual(['a', 'b']);
    expect(statSync(file.path).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'countersign')).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(folder, 'countersign')).sort()).toEqual(['.policy.lock', 'policy.json']);
  });

  it('says by its stamp that it changed', () => {
    file.update(adding('a'));
    const before = file.stamp();
    expect(file.stamp()).toBe(before);
    file.update(adding('b'));
    expect(file.stamp()).not.toBe(before);
  });

  it.each([
    ['not JSON', '{ "version": 1, '],
    ['an unknown field', '{ "version": 1, "rules": [], "rulez": [] }'],
    [
      'an unknown field of a rule',
      '{ "version": 1, "rules": [{ "id": "a", "effect": "deny", "tool": "*", "x": 1 }] }',
    ],
    ['a newer version', '{ "version": 2, "rules": [] }'],
  ])('that holds %s is left as it is, and the error names it', (_, text) => {
    mkdirSync(join(folder, 'countersign'));
    writeFileSync(file.path, text, { mode: 0o600 });
    expect(file.read()).toMatchObject({ ok: false, problem: expect.stringContaining(file.path) });
    expect(codeOf(() => file.update(adding('a')))).toBe('POLICY_INVALID');
    expect(readFileSync(file.path, 'utf8')).toBe(text);
  });

  it('that others may write is neither used nor changed', () => {
    file.update(adding('a'));
    chmodSync(file.path, 0o666);
    expect(file.read()).toMatchObject({ ok: false, problem: expect.stringContaining('chmod go-w') });
    expect(codeOf(() => file.update(adding('b')))).toBe('POLICY_INVALID');
    expect(codeOf(() => file.replaceText('{"version": 1}', undefined))).toBe('POLICY_INVALID');
  });

  it('takes no policy that is not valid', () => {
    file.update(adding('a'));
    expect(codeOf(() => file.update(adding('a')))).toBe('POLICY_INVALID'); // two rules with one id
    expect(codeOf(() => file.replaceText('{', file.text()))).toBe('POLICY_INVALID');
    expect(ids()).toEqual(['a']);
  });

  it('an edited text replaces only the text that was edited', () => {
    file.update(adding('a'));
    const before = file.text();
    file.update(adding('b'));
    const edited = JSON.stringify({ version: 1, rules: [rule('c')] });
    expect(codeOf(() => file.replaceText(edited, before))).toBe('POLICY_CHANGED');
    expect(ids()).toEqual(['a', 'b']);
    file.replaceText(edited, file.text());
    expect(ids()).toEqual(['c']);
  });

  it('an edited text replaces one that cannot be used', () => {
    mkdirSync(join(folder, 'countersign'));
    writeFileSync(file.path, '{', { mode: 0o600 });
    file.replaceText('{ "version": 1, "rules": [] }', '{');
    expect(ids()).toEqual([]);
  });

  it('stays a link where it is one', () => {
    mkdirSync(join(folder, 'dotfiles'));
    mkdirSync(join(folder, 'countersign'));
    writeFileSync(join(folder, 'dotfiles/policy.json'), '{ "version": 1 }', { mode: 0o600 });
    symlinkSync('../dotfiles/policy.json', file.path);
    file.update(adding('a'));
    expect(realpathSync(file.path)).toBe(join(folder, 'dotfiles/policy.json'));
    expect(ids()).toEqual(['a']);
  });

  it('loses no rule when several programs add some at once', async () => {
    const writer = `
      const { PersonsPolicyFile } = await import(process.argv[1]);
      const file = new PersonsPolicyFile(process.argv[2]);
      for (let i = 0; i < 20; i++)
        file.update((policy) => ({ ...policy, rules: [...policy.rules, { id: process.argv[3] + i, effect: 'deny', tool: 'git_push' }] }));`;
    const module = fileURLToPath(new URL('./policy-file.ts', import.meta.url));
    const ended = ['a', 'b', 'c'].map(
      (name) =>
        new Promise<number | null>((resolve) => {
          const args = ['--input-type=module', '-e', writer, module, file.path, name];
          spawn(process.execPath, args, { stdio: 'inherit' }).once('exit', resolve);
        }),
    );
    expect(await Promise.all(ended)).toEqual([0, 0, 0]);
    expect(ids()).toHaveLength(60);
    expect(new Set(ids()).size).toBe(60);
  });

  it('is not locked by a program that was killed while it changed it', async () => {
    const holder = `
      const { PersonsPolicyFile } = await import(process.argv[1]);
      new PersonsPolicyFile(process.argv[2]).update((policy) => { process.kill(process.pid, 'SIGKILL'); for (;;); });`;
    const module = fileURLToPath(new URL('./policy-file.ts', import.meta.url));
    const child = spawn(process.execPath, ['--input-type=module', '-e', holder, module, file.path]);
    expect(await new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)))).toBe(
      'SIGKILL',
    );
    expect(existsSync(file.path)).toBe(false);
    file.update(adding('a'));
    expect(ids()).toEqual(['a']);
  });
});
