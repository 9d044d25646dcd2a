import { chmodSync, linkSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { customToolsOf } from '@countersign/policy';
import { customToolSchema } from '@countersign/protocol';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readCeiling } from './call-permission.ts';
import { type RunnerFixture, runnerFixture } from './handler-fixture.test-data.ts';
import { OwnVerdict, ownRisk } from './own-verdict.ts';

let fixture: RunnerFixture;
beforeEach(() => {
  fixture = runnerFixture();
});
afterEach(() => fixture.remove());

const verdict = (isIsolated = true) => {
  const { workspace, configFolder } = fixture;
  return new OwnVerdict({ workspace, configFolder, isIsolated: () => isIsolated });
};
const read = (path: string, own = verdict()) => own.decide('read_file', { path }).verdict;
const write = (path: string, own = verdict()) => own.decide('write_file', { path, content: '' });

function personsPolicy(policy: unknown): string {
  const path = join(fixture.configFolder, 'policy.json');
  writeFileSync(path, typeof policy === 'string' ? policy : JSON.stringify(policy));
  chmodSync(path, 0o600);
  return path;
}

function workspacePolicy(policy: unknown): string {
  const folder = join(fixture.files.root, '.countersign');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'policy.json'), JSON.stringify(policy));
  return folder;
}

const rule = (effect: 'allow' | 'ask' | 'deny', tool: string, path: string) => ({
  version: 1,
  rules: [{ id: `${effect}-it`, effect, tool, path }],
});

it('[VA-8] looks at the real disk: a second name for a file is not LOW', () => {
  const at = (name: string) => join(fixture.files.root, name);
  expect(read('docs/guide.md').decision).toBe('LOW');
  linkSync(at('docs/guide.md'), at('docs/second.md'));
  expect(read('docs/second.md').decision).not.toBe('LOW');
  symlinkSync(fixture.files.outside, at('way-out'));
  expect(read('way-out/x')).toMatchObject({ decision: 'REJECT', code: 'PATH_OUTSIDE_WORKSPACE' });
});

it('[VA-8] a workspace that was removed: everything is refused, and says which folder is gone until it is back', () => {
  const own = verdict();
  const { root } = fixture.files;
  renameSync(root, `${root}-away`);
  const gone = {
    decision: 'REJECT',
    code: 'WORKSPACE_GONE',
    message: `The workspace folder "${root}" is gone from this machine. Put it back (or mount it again) and repeat the call, or open another folder.`,
  };
  expect(read('docs/guide.md', own)).toMatchObject(gone);
  expect(own.decide('list_directory', { path: '.' }).verdict).toMatchObject(gone);
  expect(own.decide('shell_exec', { command: 'ls' }).verdict).toMatchObject(gone);
  renameSync(`${root}-away`, root);
  expect(read('docs/guide.md', own).decision).toBe('LOW');
});

it('[RK-5] a workspace can deny and ask, and cannot allow', () => {
  const own = verdict();
  expect(read('docs/guide.md', own).decision).toBe('LOW');
  workspacePolicy(rule('deny', 'read_file', 'docs/**'));
  expect(read('docs/guide.md', own)).toMatchObject({ decision: 'REJECT', code: 'DENIED_BY_POLICY' });
  workspacePolicy(rule('allow', 'write_file', '**'));
  expect(write('a.md', own).verdict.decision).toBe('MEDIUM');
});

it("[RK-5] rules of the person's policy at the server hold for what links lead to", () => {
  const own = verdict();
  const at = (name: string) => join(fixture.files.root, name);
  symlinkSync('docs', at('papers'));
  symlinkSync('docs/guide.md', at('plain.md'));
  const decide = (path: string, effect: 'ask' | 'deny') =>
    own.decide('read_file', { path }, rule(effect, '*', 'docs/**').rules).verdict;
  for (const path of ['papers/guide.md', 'plain.md']) {
    expect(decide(path, 'deny')).toMatchObject({ decision: 'REJECT', code: 'DENIED_BY_POLICY' });
    expect(decide(path, 'ask').decision).toBe('MEDIUM');
    expect(read(path, own).decision).toBe('LOW');
  }
  expect(decide('README.md', 'deny').decision).toBe('LOW');
  // A rule that cannot be parsed might have denied the call.
  expect(own.decide('read_file', { path: 'README.md' }, [{ id: 'x' }] as never).verdict).toMatchObject({
    code: 'POLICY_INVALID',
  });
});

it('[VA-8] rules that the server adds only make it stricter: one that allows is not believed', () => {
  const own = verdict();
  const loose = [{ id: 'let-me', effect: 'allow', tool: '*', max_risk: 'HIGH' }] as const;
  const decision = own.decide('write_file', { path: 'a.md', content: '' }, loose);
  expect(decision).toMatchObject({ verdict: { code: 'POLICY_INVALID' }, allowedBy: undefined });
});

it("[RK-5] the person's own file allows; the call is as risky as before", () => {
  personsPolicy(rule('allow', 'write_file', 'docs/**'));
  const decision = write('docs/a.md');
  expect([decision.verdict.decision, decision.allowedBy?.id, ownRisk(decision)]).toEqual([
    'LOW',
    'allow-it',
    'MEDIUM',
  ]);
  expect(ownRisk(write('docs/.env'))).toBe('HIGH'); // the call is refused, so its risk has no effect
});

it('[RK-5] a file that is not valid denies everything until it is corrected', () => {
  const own = verdict();
  personsPolicy('{ not json');
  expect(read('docs/guide.md', own)).toMatchObject({ decision: 'REJECT', code: 'POLICY_INVALID' });
  personsPolicy({ version: 1 });
  expect(read('docs/guide.md', own).decision).toBe('LOW');
  workspacePolicy({ version: 2 });
  expect(read('docs/guide.md', own)).toMatchObject({ code: 'POLICY_INVALID' });
});

it("[RN-2] the person's file counts only where nobody else could have written it", () => {
  const path = personsPolicy({ version: 1 });
  const messageOf = () => (read('docs/guide.md') as { message?: string }).message;
  chmodSync(path, 0o620);
  expect(messageOf()).toContain('can be written by others; run chmod go-w on it');
  chmodSync(path, 0o600);
  chmodSync(fixture.configFolder, 0o777);
  expect(messageOf()).toContain('stands in a folder that others can write');
  chmodSync(fixture.configFolder, 0o700);
  expect(messageOf()).toBe(undefined);
  writeFileSync(path, ' '.repeat(1024 * 1024 + 1));
  expect(messageOf()).toContain('has more than 1048576 bytes');
});

it('[RN-2] the files of the person are never taken from the workspace', () => {
  const folder = workspacePolicy({ version: 1 });
  const { workspace } = fixture;
  const own = new OwnVerdict({ workspace, configFolder: folder, isIsolated: () => true });
  expect(read('docs/guide.md', own)).toMatchObject({
    message: expect.stringContaining('is inside the workspace'),
  });
});

it('a folder, a pipe or a link in place of a policy is not believed', () => {
  mkdirSync(join(fixture.configFolder, 'policy.json'));
  expect(read('docs/guide.md')).toMatchObject({ message: expect.stringContaining('is not a regular file') });
  const { workspace } = fixture;
  const own = new OwnVerdict({ workspace, configFolder: '/nowhere', isIsolated: () => true });
  mkdirSync(join(fixture.files.root, '.countersign', 'policy.json'), { recursive: true });
  expect(read('docs/guide.md', own)).toMatchObject({ code: 'POLICY_INVALID' });
});

it('a workspace policy that leads outside is not believed', () => {
  mkdirSync(join(fixture.files.root, '.countersign'));
  symlinkSync(join(fixture.files.outside, 'x'), join(fixture.files.root, '.countersign', 'policy.json'));
  expect(read('docs/guide.md')).toMatchObject({ code: 'POLICY_INVALID' });
});

it('a path that cannot be opened is not believed', () => {
  const { workspace } = fixture;
  const own = new OwnVerdict({ workspace, configFolder: 'x'.repeat(5000), isIsolated: () => true });
  expect(read('docs/guide.md', own)).toMatchObject({ code: 'POLICY_INVALID' });
});

it('[RK-5] rules are about the files that a command names, not about those its program executes by itself', () => {
  mkdirSync(join(fixture.files.root, '.git', 'hooks'), { recursive: true });
  writeFileSync(join(fixture.files.root, '.git', 'hooks', 'pre-commit'), '');
  personsPolicy(rule('deny', 'execute_command', '.git/**'));
  const commit = verdict().decide('execute_command', { command: 'git', args: ['commit', '-m', 'x'] });
  expect(commit.details?.operands).toContainEqual({
    path: '.git/hooks/pre-commit',
    use: 'run',
    implied: true,
  });
  expect(commit.verdict.decision).toBe('MEDIUM');
});

it('[RN-5] without isolation, what would start a program unasked is asked about', () => {
  const ls = { command: 'ls', args: [] };
  expect(verdict(true).decide('execute_command', ls).verdict.decision).toBe('LOW');
  const decide = (tool: string, params: object) => verdict(false).decide(tool, params).verdict.decision;
  expect([
    decide('execute_command', ls),
    decide('git_status', {}),
    decide('symbols', { path: 'src/app.ts' }),
    decide('read_file', { path: 'src/app.ts' }),
    decide('search_files', { pattern: '*.ts' }),
  ]).toEqual(['MEDIUM', 'MEDIUM', 'MEDIUM', 'LOW', 'LOW']);
});

it('a policy file of the workspace that is too large to be read for each call is refused', () => {
  mkdirSync(join(fixture.files.root, '.countersign'), { recursive: true });
  const path = join(fixture.files.root, '.countersign', 'policy.json');
  const rules = (bytes: number) => writeFileSync(path, '{"version": 1}'.padEnd(bytes));
  rules(1024 * 1024);
  expect(read('README.md')).toMatchObject({ decision: 'LOW' });
  rules(1024 * 1024 + 1);
  expect(read('README.md')).toMatchObject({
    code: 'POLICY_INVALID',
    message: expect.stringContaining('has more than 1048576 bytes'),
  });
});

it("[RK-5] knows the sensitive files that the person's own policy lifts", () => {
  expect(verdict().liftedSensitivePaths()).toEqual(new Set());
  personsPolicy({ version: 1, sensitive_paths: ['config/.env'] });
  expect(verdict().liftedSensitivePaths()).toEqual(new Set(['config/.env']));
});

it('[RN-2] reads the ceiling, and says what is wrong with it', () => {
  const { configFolder, workspace } = fixture;
  const path = join(configFolder, 'ceiling.json');
  const ceiling = (text?: string) => {
    if (text !== undefined) writeFileSync(path, text, { mode: 0o600 });
    return readCeiling(configFolder, workspace.root);
  };
  const wrong = { ok: false, path, problem: expect.stringContaining('it looks like {"version": 1') };
  expect(ceiling()).toEqual({ ok: true, path, decideHere: [] });
  expect(ceiling('{"version": 1, "decide_here": ["HIGH"]}')).toEqual({
    ok: true,
    path,
    decideHere: ['HIGH'],
  });
  expect(ceiling('{"version": 1, "decide_here": ["EVERYTHING"]}')).toEqual(wrong);
  expect(ceiling('{"version": 1, "decide_hear": ["HIGH"], "decide_here": []}')).toEqual(wrong);
  expect(ceiling('null')).toEqual(wrong);
  chmodSync(path, 0o666);
  expect(ceiling()).toMatchObject({
    ok: false,
    problem: expect.stringContaining('can be written by others'),
  });
});

it('[VA-1] asks before a command that could read more hard links than can be hidden from it', () => {
  const { workspace, configFolder } = fixture;
  const decide = (canHideLinks: boolean, tool: string, params: object) =>
    new OwnVerdict({
      workspace,
      configFolder,
      isIsolated: () => true,
      canHideLinks: () => canHideLinks,
    }).decide(tool, params).verdict;
  const list = { command: 'ls', args: [] };
  expect(decide(true, 'execute_command', list).decision).toBe('LOW');
  expect(decide(false, 'execute_command', list)).toMatchObject({
    decision: 'MEDIUM',
    reasons: expect.arrayContaining([expect.objectContaining({ rule: 'ISO-2' })]),
  });
  expect(decide(false, 'git_status', {}).decision).toBe('LOW');
});

it('[RN-5] a custom tool that needs no question asks where its program cannot be isolated', () => {
  const { workspace, configFolder } = fixture;
  const tool = (name: string) =>
    customToolSchema.parse({ name, description: '', input_schema: {}, risk_level: 'LOW' });
  const customTools = {
    ...customToolsOf([tool('here__list'), tool('elsewhere__list')]),
    startsProcess: (name: string) => name.startsWith('here__'),
  };
  const decide = (name: string, isIsolated: boolean) =>
    new OwnVerdict({ workspace, configFolder, isIsolated: () => isIsolated, customTools }).decide(name, {});
  expect(decide('here__list', true).verdict.decision).toBe('LOW');
  expect(decide('here__list', false)).toMatchObject({
    verdict: {
      decision: 'MEDIUM',
      reasons: expect.arrayContaining([expect.objectContaining({ rule: 'ISO-1' })]),
    },
    allowedBy: undefined,
  });
  expect(decide('elsewhere__list', false).verdict.decision).toBe('LOW');
});
