import { customToolsOf, type Disk, readPolicyFile, ToolCallPolicy } from '@countersign/policy';
import {
  changingToolsPattern,
  customToolSchema,
  gitCommandsPattern,
  type PolicyRule,
  type RiskLevel,
} from '@countersign/protocol';
import { describe, expect, it } from 'vitest';
import { type PermissionFacts, permissionFor } from './call-permission.ts';
import { readSignal, writeSignal } from './call-samples.test-data.ts';
import type { ExecutionSignal } from './runner-api.ts';

const digest = `sha256:${'a'.repeat(64)}`;
const now = Date.parse('2026-11-15T12:00:00Z');
const policy = new ToolCallPolicy({ root: '/work' });

function facts(signal: ExecutionSignal, over: Partial<PermissionFacts> = {}): PermissionFacts {
  return {
    signal,
    own: policy.decide(signal.tool_name, signal.tool_params),
    risk: signal.risk_level,
    digest,
    workspaceRoot: '/work',
    now,
    ceiling: { ok: true, path: '', decideHere: [] },
    rulesHere: [],
    decidedHere: undefined,
    ...over,
  };
}

/** `yes`, or why not. */
function answer(signal: ExecutionSignal, over: Partial<PermissionFacts> = {}): string {
  const permission = permissionFor(facts(signal, over));
  return permission.ok ? 'yes' : `${permission.code}: ${Object.values(permission.values).join(' ')}`;
}

describe('[RN-2] a person approved it', () => {
  const approved = writeSignal({ digest });
  const push = { tool_name: 'git_push', tool_params: {}, risk_level: 'HIGH' as RiskLevel };

  it.each<[string, ExecutionSignal, Partial<PermissionFacts>, string]>([
    ['LOW needs nobody', readSignal(), { digest: null }, 'yes'],
    ['with its approval and digest', approved, {}, 'yes'],
    ['approved before its preview was there', writeSignal(), {}, 'yes'],
    [
      'another digest',
      writeSignal({ digest: `sha256:${'b'.repeat(64)}` }),
      {},
      'APPROVAL_STALE: the files or the command are not those that were shown',
    ],
    [
      'riskier here than approved',
      approved,
      { risk: 'HIGH' },
      'APPROVAL_STALE: it is HIGH here, more than what was approved',
    ],
    ['HIGH with its digest', writeSignal({ ...push, digest }), {}, 'yes'],
    [
      'HIGH approved unseen',
      writeSignal(push),
      {},
      'APPROVAL_STALE: it was approved without having been shown',
    ],
    [
      'an approval id alone',
      writeSignal({ digest, approved_by: 'auto' }),
      {},
      'APPROVAL_STALE: it is MEDIUM here, and nobody has approved it',
    ],
    [
      'nothing',
      writeSignal({ approval_id: null, approved_by: 'config' }),
      {},
      'APPROVAL_STALE: it is MEDIUM here, and nobody has approved it',
    ],
  ])('%s', (_, signal, over, expected) => {
    expect(answer(signal, over)).toBe(expected);
  });
});

describe('[AP-4] a grant covers it', () => {
  const grant: NonNullable<ExecutionSignal['grant']> = {
    tool: 'write_file',
    pattern: 'src/**',
    max_risk: 'MEDIUM',
    session_id: 'session',
    workspace: '/work',
    expires_at: null,
  };
  const granted = (over: Partial<typeof grant> = {}, call: Partial<ExecutionSignal> = {}) =>
    writeSignal({
      tool_params: { path: 'src/a.ts', content: '' },
      approval_id: null,
      approved_by: 'config',
      grant_id: 'grant-1',
      grant: { ...grant, ...over },
      ...call,
    });
  const npm = { tool_name: 'execute_command', tool_params: { command: 'npm', args: ['test'] } };
  const install = { ...npm, tool_params: { command: 'npm', args: ['install', 'x'] } };
  const no = 'APPROVAL_STALE: the grant does not cover it here';

  it.each<[string, ExecutionSignal, string]>([
    ['path', granted(), 'yes'],
    ['everything of the session', granted({ tool: '*', pattern: null }), 'yes'],
    ['command', granted({ tool: 'execute_command', pattern: 'npm *' }, npm), 'yes'],
    ['a command that is on no list', granted({ tool: 'execute_command', pattern: 'npm *' }, install), no],
    ['that very command', granted({ tool: 'execute_command', pattern: 'npm install x' }, install), 'yes'],
    ['another command', granted({ tool: 'execute_command', pattern: 'git *' }, npm), no],
    ['another path', granted({ pattern: 'docs/**' }), no],
    ['another tool', granted({ tool: 'edit_file' }), no],
    ['another session', granted({ session_id: 'other' }), no],
    ['any session', granted({ session_id: null }), 'yes'],
    ['another workspace', granted({ workspace: '/elsewhere' }), no],
    ['expired', granted({ expires_at: '2026-11-15T12:00:00Z' }), no],
    ['not expired', granted({ expires_at: '2026-11-15T12:00:01Z' }), 'yes'],
    ['too risky', granted({}, { risk_level: 'HIGH' }), no],
    ['a pattern that is none', granted({ pattern: 'src/[' }), no],
    [
      'a place that executes later (VA-3)',
      granted({ pattern: null }, { tool_params: { path: '.vscode/tasks.json', content: '' } }),
      no,
    ],
    [
      'a predicate without its id',
      granted({}, { grant_id: null }),
      'APPROVAL_STALE: it is MEDIUM here, and nobody has approved it',
    ],
  ])('%s', (_, signal, expected) => {
    expect(answer(signal)).toBe(expected);
  });
});

it("[RK-5] a rule of the person's own policy on this machine answers in their place", () => {
  const signal = writeSignal({ approval_id: null, approved_by: 'config' });
  const own = policy.decide(signal.tool_name, signal.tool_params);
  const rule = { id: 'mine', effect: 'allow', tool: 'write_file' } as const;
  expect(answer(signal, { own: { ...own, allowedBy: rule } })).toBe('yes');
});

describe('[AP-11] the grant of the mode accept edits', () => {
  const edits = (tool_name: string, tool_params: ExecutionSignal['tool_params']) =>
    writeSignal({
      tool_name,
      tool_params,
      approval_id: null,
      approved_by: 'config',
      grant_id: 'grant-1',
      grant: {
        scope: 'mode',
        tool: changingToolsPattern,
        pattern: null,
        max_risk: 'MEDIUM',
        session_id: 'session',
        workspace: '/work',
        expires_at: null,
      },
    });
  const no = 'APPROVAL_STALE: the grant does not cover it here';
  const write = edits('write_file', { path: 'src/a.ts', content: '' });
  const folder = { type: 'directory', size: 0, hardLinks: 2 } as const;

  it.each<[string, ExecutionSignal, Partial<PermissionFacts>, string]>([
    ['covers a file tool that changes a file', write, {}, 'yes'],
    ['not what is HIGH on this disk', write, { risk: 'HIGH' }, no],
    ['not a place that executes later (VA-3)', edits('write_file', { path: '.envrc', content: '' }), {}, no],
    ['not deleting', edits('delete_file', { path: 'a.md' }), { risk: 'HIGH' }, no],
    ['not a command', edits('execute_command', { command: 'npm', args: ['test'] }), {}, no],
    ['not a commit', edits('git_commit', { message: 'x', files: ['a.md'] }), {}, no],
    ['not another folder', write, { workspaceRoot: '/elsewhere' }, no],
  ])('%s', (_, signal, over, expected) => {
    expect(answer(signal, over)).toBe(expected);
  });

  it.each<[string, ExecutionSignal['tool_params']]>([
    ['write_file', { path: 'second-name.md', content: '', mode: 'append' }],
    ['edit_file', { path: 'second-name.md', old: 'a', new: 'b' }],
    ['copy_file', { source: 'second-name.md', dest: 'copy.md' }],
  ])('[VA-1] not %s of a file with several names, which reading would ask about', (tool, params) => {
    const disk: Disk = {
      look: (path) =>
        path === '/work/second-name.md'
          ? { type: 'file', size: 1, hardLinks: 2 }
          : { '/': folder, '/work': folder }[path],
      readLink: () => undefined,
      readHead: () => new Uint8Array(),
    };
    const own = new ToolCallPolicy({ root: '/work', disk }).decide(tool, params);
    expect(own.assessed?.decision).toBe('MEDIUM');
    expect(answer(edits(tool, params), { own })).toBe(no);
  });

  it("leaves what this machine's or the workspace's rules ask about to the person", () => {
    const own = policy.decide('write_file', write.tool_params);
    const askedBy = { id: 'mine', effect: 'ask', tool: 'write_file', path: 'src/**' } as const;
    expect(answer(write, { own: { ...own, askedBy } })).toBe(no);
  });
});

describe('[RN-2] the ceiling', () => {
  const ceiling = { ok: true, path: '', decideHere: ['HIGH'] } as const;
  const push = writeSignal({ tool_name: 'git_push', tool_params: {}, risk_level: 'HIGH', digest });

  it('wants HIGH to be decided here, for exactly this', () => {
    const elsewhere = 'APPROVAL_STALE: HIGH calls need a decision made on the machine that executes them';
    expect(answer(push, { ceiling })).toBe(elsewhere);
    expect(answer(push, { ceiling, decidedHere: 'sha256:other' })).toBe(elsewhere);
    expect(answer(push, { ceiling, decidedHere: digest })).toBe('yes');
    expect(answer(writeSignal({ digest }), { ceiling })).toBe('yes');
  });

  it('that cannot be believed lets nothing above LOW through', () => {
    const broken = { ok: false, path: '', problem: 'it can be written by others' } as const;
    expect(answer(push, { ceiling: broken, decidedHere: digest })).toBe(
      "DENIED_BY_POLICY: machine's it can be written by others",
    );
    expect(answer(readSignal(), { ceiling: broken })).toBe('yes');
  });
});

describe("[AP-4] a rule of the person's policy approved it", () => {
  const rule = { id: 'always-notes', effect: 'allow', tool: 'write_file', path: '*.md' } as const;
  const allowed = (over: object = {}): ExecutionSignal =>
    writeSignal({ approval_id: null, approved_by: 'config', rule: { ...rule, ...over } });
  const uncovered = 'APPROVAL_STALE: the rule of your policy does not cover it here';

  it.each<[string, ExecutionSignal, Partial<PermissionFacts>, string]>([
    ['that covers it', allowed(), {}, 'yes'],
    ['of another path', allowed({ path: 'docs/**' }), {}, uncovered],
    ['of another tool', allowed({ tool: 'edit_file' }), {}, uncovered],
    ['that denies', allowed({ effect: 'deny' }), {}, uncovered],
    ['that does not compile', allowed({ path: '{a,b}'.repeat(9) }), {}, uncovered],
    ['up to a lower risk', allowed({ max_risk: 'LOW' }), {}, uncovered],
    ['and it is riskier here', allowed(), { risk: 'HIGH' }, uncovered],
    [
      'for a place that executes later',
      allowed({ path: '**' }),
      { own: policy.decide('write_file', { path: '.vscode/tasks.json', content: '{}' }) },
      uncovered,
    ],
    [
      'but the server says a person did',
      { ...allowed(), approved_by: 'user' },
      {},
      'APPROVAL_STALE: it is MEDIUM here, and nobody has approved it',
    ],
  ])('%s', (_, signal, over, expected) => {
    expect(answer(signal, over)).toBe(expected);
  });

  it('that was made with a click covers harmless commands only', () => {
    const install = { tool_name: 'execute_command', tool_params: { command: 'npm', args: ['install', 'x'] } };
    const byRule = (over: object): ExecutionSignal =>
      writeSignal({
        ...install,
        approval_id: null,
        approved_by: 'config',
        rule: { id: 'npm', effect: 'allow', tool: 'execute_command', command: 'npm *', ...over },
      });
    expect([answer(byRule({})), answer(byRule({ harmless_only: true }))]).toEqual(['yes', uncovered]);
  });

  it('[RK-5] several rules cover the commands of a line together, and none alone', () => {
    const line = (command: string, ...further: string[]) => {
      const [rule, ...further_rules] = ['npm test *', ...further].map((pattern) => ({
        ...{ id: pattern, effect: 'allow', tool: 'shell_exec', command: pattern, max_risk: 'HIGH' },
      })) as [PolicyRule, ...PolicyRule[]];
      const call = { tool_name: 'shell_exec', tool_params: { command }, risk_level: 'HIGH' as const };
      return answer(writeSignal({ ...call, approval_id: null, approved_by: 'config', rule, further_rules }));
    };
    expect(line('npm test && npm run build', 'npm run build')).toBe('yes');
    expect(line('npm test | head -3')).toBe('yes');
    expect(line('npm test && npm run build')).toBe(uncovered);
    expect(line('npm test && npm run build; npm publish', 'npm run build')).toBe(uncovered);
  });

  it('[RK-5] and a rule here wants it asked: ask beats allow, whichever file each stands in', () => {
    for (const owner of ['person', 'workspace'] as const) {
      const asks = { id: 'ask', effect: 'ask', tool: 'write_file', path: '**' } as const;
      const reading = readPolicyFile(JSON.stringify({ version: 1, rules: [asks] }), owner);
      const policies = reading.ok ? [reading.policy] : [];
      const { tool_name, tool_params } = allowed();
      const own = new ToolCallPolicy({ root: '/work', policies }).decide(tool_name, tool_params);
      expect(answer(allowed(), { own })).toBe(uncovered);
      expect(answer(writeSignal({ digest }), { own })).toBe('yes');
    }
  });
});

it('[VA-8] the server’s word that a custom tool need not ask counts only where this machine says so itself', () => {
  const decideAs = (risk_level: RiskLevel) => {
    const tool = customToolSchema.parse({
      name: 'files__list',
      description: '',
      input_schema: {},
      risk_level,
    });
    return new ToolCallPolicy({ root: '/work', customTools: customToolsOf([tool]) }).decide(
      'files__list',
      {},
    );
  };
  const leave = { id: 'mcp.json', effect: 'allow', tool: 'files__list' } as const;
  const call = {
    tool_name: 'files__list',
    tool_params: {},
    approval_id: null,
    approved_by: 'config',
  } as const;
  const signal = writeSignal({ ...call, rule: leave });
  expect(answer(signal, { own: decideAs('LOW') })).toBe('yes');
  expect(answer(signal, { own: decideAs('MEDIUM') })).toBe(
    'APPROVAL_STALE: the tool configuration of this machine wants it to be asked',
  );
});

it('[AP-4] a grant of git commands covers commits and branches here too, and no push', () => {
  const granted = (tool_name: string, tool_params: ExecutionSignal['tool_params'], risk_level: RiskLevel) => {
    const { session_id } = writeSignal();
    const grant = {
      tool: gitCommandsPattern,
      pattern: 'git *',
      max_risk: 'HIGH' as const,
      session_id,
      workspace: '/work',
      expires_at: null,
    };
    const by = { approval_id: null, approved_by: 'config' as const, grant_id: 'g', grant };
    return answer(writeSignal({ tool_name, tool_params, risk_level, ...by }));
  };
  expect([
    granted('git_commit', { message: 'x', files: ['a.md'] }, 'MEDIUM'),
    granted('git_branch', { name: 'next', create: true }, 'MEDIUM'),
    granted('execute_command', { command: 'git', args: ['commit', '-m', 'x'] }, 'MEDIUM'),
  ]).toEqual(['yes', 'yes', 'yes']);
  const refused = 'APPROVAL_STALE: the grant does not cover it here';
  expect([
    granted('git_push', {}, 'HIGH'),
    granted('git_commit', { message: 'x', files: ['.husky/pre-commit'] }, 'MEDIUM'),
  ]).toEqual([refused, refused]);
});
