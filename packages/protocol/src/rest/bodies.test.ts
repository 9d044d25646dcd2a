import { describe, expect, it } from 'vitest';
import { type RouteName, routes } from './routes.ts';

/** Whether a route takes a body. */
function takes(name: RouteName, body: unknown): boolean {
  const route = routes[name];
  return 'body' in route && route.body.safeParse(body).success;
}

describe('bodies of the founding documents', () => {
  it.each<[RouteName, unknown]>([
    ['approve', { decision: 'approved' }],
    ['reject', { reason: 'User declined execution' }],
    [
      'submitResult',
      {
        status: 'completed',
        result: { success: true, stdout: 'test output...', stderr: null, exit_code: 0 },
      },
    ],
    ['submitResult', { status: 'failed', error: 'Command not found: npm' }],
    [
      'executeTool',
      {
        tool_name: 'read_file',
        tool_params: { path: 'src/main.py' },
        session_id: '123e4567-e89b-12d3-a456-426614174000',
      },
    ],
  ])('[RE-3] %s takes %j as it stands', (name, body) => {
    expect(takes(name, body)).toBe(true);
  });

  it('[RE-3] answers with the fields of the founding documents', () => {
    const accepted = {
      success: true,
      tool_id: '123e4567-e89b-12d3-a456-426614174000',
      status: 'completed',
      message: 'Tool result processed',
    };
    expect(routes.submitResult.response.parse(accepted)).toEqual(accepted);
    const decided = { success: true, approval_id: 'uuid', status: 'rejected' };
    expect(routes.reject.response.parse(decided)).toEqual(decided);
  });
});

describe('request bodies', () => {
  it('[EX-6] claims a call with its digest alone', () => {
    expect(takes('startExecution', { digest: `sha256:${'0'.repeat(64)}` })).toBe(true);
    expect(takes('startExecution', {})).toBe(false);
  });

  it('[AP-4] approves this one call unless more is said, and never HIGH by silence', () => {
    expect(routes.approve.body.parse({})).toEqual({
      scope: 'once',
      only_here: false,
      include_high: false,
    });
  });

  it('[RE-3] knows three ends of a call, with an error given as text or as a value', () => {
    const error = { code: 'COMMAND_TIMEOUT', message: 'It took too long.', recoverable: true };
    expect(takes('submitResult', { status: 'failed', error })).toBe(true);
    expect(takes('submitResult', { status: 'cancelled' })).toBe(true);
    expect(takes('submitResult', { status: 'timeout', error })).toBe(false);
  });

  it.each<[RouteName, unknown, string]>([
    ['submitResult', { status: 'completed' }, 'nothing that completed'],
    ['submitResult', { status: 'failed' }, 'no reason for the failure'],
    ['submitResult', { output: 'y' }, 'no status'],
    ['approve', { decision: 'rejected' }, 'the opposite decision'],
    ['approve', { args: ['--changed'] }, 'an unknown field'],
    ['approve', { digest: 'sha256:abc' }, 'half a digest'],
    ['reject', { decision: 'approved' }, 'the opposite decision'],
    ['executeTool', { tool_name: 'pwd', approved: true }, 'a claim to be approved'],
    ['executeTool', { tool_name: '', tool_params: {} }, 'no tool'],
    ['executeTool', { tool_name: 'read_file', tool_params: 'path' }, 'parameters that are no object'],
    ['executeTool', { tool_name: 'read_file', session_id: '../history' }, 'an id that is none'],
    ['sendMessage', { content: '' }, 'an empty message'],
    ['sendMessage', { content: 'approved', role: 'assistant' }, 'a role'],
    ['heartbeat', { queued: [], executing: [], unacknowledged: Array(2_001).fill('a') }, 'too many ids'],
    ['createToken', { name: 'x', scope: 'root' }, 'an unknown scope'],
    ['submitProgress', { progress: 101 }, 'more than all'],
    ['askForHost', { host: 'localhost:3000' }, 'this machine'],
    ['askForHost', { host: 'a.example/x' }, 'more than a host'],
    ['approve', null, 'nothing'],
    ['approve', [], 'an array'],
  ])('[RE-4] %s refuses %j: %s', (name, body) => {
    expect(takes(name, body)).toBe(false);
  });

  it('[RE-4] refuses parameters that are nested without end', () => {
    const deep: unknown = JSON.parse('['.repeat(50_000) + ']'.repeat(50_000));
    expect(takes('executeTool', { tool_name: 'deploy__staging', tool_params: { deep } })).toBe(false);
  });

  it('[VA-8] takes a refusal of the runner in place of a preview, not both', () => {
    const refused = { code: 'PATH_OUTSIDE_WORKSPACE', message: 'It leads outside.' };
    const report = { runner_id: 'r', revision: 1, reasons: [], refused };
    expect(takes('submitPreview', report)).toBe(true);
    expect(takes('submitPreview', { ...report, preview: { kind: 'directory', path: 'a' } })).toBe(false);
  });

  it('[TL-1] registers a custom tool as MEDIUM unless the configuration says otherwise', () => {
    const custom_tools = [
      { name: 'deploy__staging', description: 'Deploy', input_schema: { type: 'object' } },
    ];
    const { body } = routes.heartbeat;
    expect(body.parse({ queued: [], executing: [], unacknowledged: [], custom_tools }).custom_tools).toEqual([
      {
        ...custom_tools[0],
        ...{ risk_level: 'MEDIUM', read_only: false, destructive: false, network: false },
        ...{ category: 'custom', requires_approval: false },
      },
    ]);
  });
});

describe('queries', () => {
  it('reads numbers and fills in the defaults', () => {
    expect(routes.history.query.parse({ limit: '10', status: 'failed' })).toEqual({
      limit: 10,
      status: 'failed',
    });
    expect(routes.history.query.parse({})).toEqual({ limit: 50 });
  });

  it.each([
    { limit: '0' },
    { limit: '201' },
    { limit: '' },
    { limit: 'x' },
    { statsu: 'failed' },
    { since: 'today' },
  ])('[RE-4] history refuses %j', (query) => {
    expect(routes.history.query.safeParse(query).success).toBe(false);
  });

  it('[EV-2] leaves an id that it cannot resume from to stream.reset', () => {
    expect(routes.projectStream.query.parse({ last_event_id: 'not-a-number', since: '0' })).toEqual({
      last_event_id: 'not-a-number',
    });
  });
});
