import { describe, expect, it } from 'vitest';
import { readPolicyFile } from './policy-rules.ts';
import { ToolCallPolicy } from './tool-call-policy.ts';
import { isRefused } from './verdict.ts';

/** Rules as a person writes them: `allow npm test *`. All go up to HIGH, as every shell line here is HIGH or less. */
function policyOf(...lines: (string | Record<string, unknown>)[]): ToolCallPolicy {
  const rules = lines.map((line, index) => {
    const written = typeof line === 'string' ? line.split(' ') : [];
    const rule =
      typeof line === 'string' ? { effect: written[0], command: written.slice(1).join(' ') } : { ...line };
    return {
      id: `r${index + 1}`,
      tool: '*',
      ...(rule.effect !== 'deny' && rule.effect !== 'ask' && { effect: 'allow', max_risk: 'HIGH' }),
      ...rule,
    };
  });
  const reading = readPolicyFile(JSON.stringify({ version: 1, rules }), 'person');
  if (!reading.ok) throw new Error(reading.problem);
  return new ToolCallPolicy({ root: '/workspace', policies: [reading.policy] });
}

/** The ids of the rules that let the line run, or its decision if none does. */
function decide(policy: ToolCallPolicy, command: string, params: object = {}): string {
  const { verdict, allowedBy, allowedWith = [] } = policy.decide('shell_exec', { command, ...params });
  if (isRefused(verdict)) return verdict.code;
  return allowedBy ? [allowedBy, ...allowedWith].map(({ id }) => id).join(' ') : verdict.decision;
}

describe('[RK-5] rules unite over the commands of a line', () => {
  const policy = policyOf('allow npm test *', 'allow npm run build', 'allow git add *', 'deny git push *');

  it.each([
    ['npm test && npm run build', 'r1 r2'],
    ['npm run build; npm test -- src | git add .', 'r2 r1 r3'],
    ['npm test || npm test -- --watch', 'r1'],
    ['for i in 1 2; do npm test; npm run build; done', 'r1 r2'],
    ['(npm run build) & npm test', 'r2 r1'],
  ])('%s is covered by %s', (line, rules) => {
    expect(decide(policy, line)).toBe(rules);
  });

  it.each([
    'npm test && npm install',
    'npm test; npm run build; curl -o x https://example.org/x',
    'npm test && npm run build -- --publish',
    'npm test $(npm publish)',
    'npm test; npm run $X',
    'npm test; $X',
    'env npm test; npm run build',
    'npm test; sh -c "npm run build; npm run deploy"',
    'npm test | tee notes.md',
    'eval "npm test"; npm run build',
  ])('%s is asked about', (line) => {
    expect(decide(policy, line)).toMatch(/^(MEDIUM|HIGH)$/);
  });

  it('deny beats ask beats allow, whichever command it stands on', () => {
    expect(decide(policy, 'npm test && git push')).toBe('DENIED_BY_POLICY');
    const asking = policyOf('allow npm test *', 'allow npm run *', 'ask npm run build');
    expect(decide(asking, 'npm test && npm run lint')).toBe('r1 r2');
    expect(decide(asking, 'npm test && npm run build')).toBe('MEDIUM');
    const both = policyOf('allow npm test *', 'ask npm test *', 'deny npm run *');
    expect(decide(both, 'npm test && npm run lint')).toBe('DENIED_BY_POLICY');
  });

  it('gives every rule as a reason', () => {
    const { verdict } = policy.decide('shell_exec', { command: 'npm test && npm run build' });
    expect(verdict.reasons.slice(0, 2).map(({ rule }) => rule)).toEqual(['r1', 'r2']);
  });
});

describe('[RK-5] what only reads needs no rule', () => {
  const policy = policyOf('allow npm test *', { command: 'npm run build', path: 'docs/**' });

  it.each([
    ['npm test | head -20', 'r1'],
    ['npm test 2>&1 | grep -n FAIL | wc -l', 'r1'],
    ['ls src; npm test; cat README.md', 'r1'],
    ['npm test && echo done', 'r1'],
  ])('%s is covered by %s', (line, rules) => {
    expect(decide(policy, line)).toBe(rules);
  });

  it.each([
    // reads a file outside the workspace, a sensitive one, or one that is only known at run time
    'npm test; cat $F',
    'npm test; ls /home',
    'npm test; cat "$(ls src)"',
    // may find, or expand to, files that only confinement hides
    'npm test; grep -rn TOKEN .',
    'npm test; diff -N . docs',
    'npm test; grep --recursive TOKEN src',
    'npm test; cat *',
    'npm test; cat src/[a-z]*',
    'npm test; find . -name package.json',
    // the program does more than read
    'npm test; find . -exec npm publish \\;',
    'npm test | xargs rm',
    'npm test; ./cat README.md',
    'npm test; date -s tomorrow',
    // the output is written to a file
    'npm test | cat > notes.md',
    'npm test; echo x > src/a.ts',
    'npm run build; echo x > docs/a.md',
    'npm run build > docs/a.md; head docs/a.md',
    // the name stands for another program here
    'cat() { npm publish; }; npm test; cat',
    'PATH=.:$PATH; npm test; cat README.md',
    'alias cat="npm publish"; npm test; cat README.md',
  ])('%s is asked about', (line) => {
    expect(decide(policy, line)).toMatch(/^(MEDIUM|HIGH)$/);
  });

  it('never lifts a refusal', () => {
    expect(decide(policy, 'npm test; cat .env')).not.toBe('r1');
    expect(decide(policy, 'npm test; rm -rf /')).toBe('SHELL_CATASTROPHE');
  });

  it('and a line that only reads is not allowed by a rule about something else', () => {
    expect(decide(policyOf('allow npm test *'), 'ls src | head -2')).not.toContain('r1');
  });
});

describe('[RK-5] each rule covers the rest of the line by itself', () => {
  it('its risk', () => {
    const policy = policyOf('allow npm test *', {
      command: 'npm run *',
      effect: 'allow',
      max_risk: 'MEDIUM',
    });
    expect(decide(policy, 'npm test && npm run $(ls)')).toBe('HIGH');
  });

  it('its paths: one rule for src does not make another one for docs write there', () => {
    const policy = policyOf(
      { command: 'npm run build', path: 'src/**' },
      { command: 'echo *', path: 'docs/**' },
    );
    expect(decide(policy, 'echo x > docs/a.md; npm run build')).toBe('HIGH');
    expect(decide(policyOf({ command: 'echo *', path: 'docs/**' }), 'echo x > docs/a.md')).toBe('r1');
  });

  it('its tool', () => {
    const policy = policyOf('allow npm test *', { command: 'npm run build', tool: 'execute_command' });
    expect(decide(policy, 'npm test && npm run build')).toBe('MEDIUM');
  });

  it('variables: none may change what a program does', () => {
    const policy = policyOf('allow npm test *', 'allow npm run *', 'allow git fetch *');
    expect(decide(policy, 'CI=1 npm test && npm run build')).toBe('r1 r2');
    for (const line of [
      'NODE_OPTIONS=--require=./x.js npm test',
      'NODE_OPTIONS=--require=./x.js npm test && npm run build',
      'export GIT_SSH_COMMAND=./x; git fetch origin',
      'MAKEFLAGS=x npm test',
      'npm_config_script_shell=./x npm test',
    ])
      expect([line, decide(policy, line)]).toEqual([line, 'HIGH']);
  });

  it('where harmless_only is set, each command must be harmless and start in the root', () => {
    const policy = policyOf(
      { command: 'git *', harmless_only: true },
      { command: 'npm test *', harmless_only: true },
    );
    expect(decide(policy, 'git add src && npm test')).toBe('r1 r2');
    expect(decide(policy, 'git config core.editor x && npm test')).toBe('HIGH');
    expect(decide(policy, 'git add src && npm test', { cwd: 'src' })).toBe('MEDIUM');
  });
});

describe('[RK-5] a rule sees every command and file of a line', () => {
  const policy = policyOf('allow npm test *', 'deny git push *', { effect: 'deny', path: 'private/**' });
  const many = (text: (i: number) => string) => Array.from({ length: 1_200 }, (_, i) => text(i)).join('; ');

  it('none is past counting', () => {
    expect(decide(policy, `${many((i) => `npm test ${i}`)}; npm publish`)).toBe('SHELL_TOO_COMPLEX');
    expect(decide(policy, `${many((i) => `npm test ${i}`)}; git push`)).toBe('SHELL_TOO_COMPLEX');
    expect(decide(policy, `${many((i) => `cat src/${i}`)}; cat private/x`)).toBe('SHELL_TOO_COMPLEX');
    expect(decide(policy, `${many(() => 'npm test')}; git push`)).toBe('DENIED_BY_POLICY');
  });

  it('is not confused with a longer command that begins the same', () => {
    const long = 'a'.repeat(300);
    const exact = policyOf(`allow node ${long}/a.js`);
    expect(decide(exact, `node ${long}/a.js`)).toBe('r1');
    expect(decide(exact, `node ${long}/a.js; node ${long}/b.js`)).toBe('HIGH');
  });
});
