import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { errorBodySchema } from './error-body.ts';
import { type Route, routes } from './routes.ts';

/** Method, path, and the scopes of the tokens that may call it. */
const pinnedRoutes = {
  sendMessage: 'POST /my/projects/{project_id}/chat/messages person,front_end',
  listMessages: 'GET /my/projects/{project_id}/chat/messages person,front_end',
  changeQueuedMessage: 'PUT /my/projects/{project_id}/chat/queue/{message_id} person,front_end',
  removeQueuedMessage: 'DELETE /my/projects/{project_id}/chat/queue/{message_id} person,front_end',
  sendQueuedMessage: 'POST /my/projects/{project_id}/chat/queue/{message_id}/send person,front_end',
  projectStream: 'GET /my/projects/{project_id}/chat/stream person,front_end,runner',
  personStream: 'GET /my/stream person,front_end,runner',
  availableTools: 'GET /my/projects/{project_id}/tools/available person,front_end,agent',
  submitResult: 'POST /my/projects/{project_id}/tools/{tool_id}/result person,runner',
  submitProgress: 'POST /my/projects/{project_id}/tools/{tool_id}/progress person,runner',
  askForHost: 'POST /my/projects/{project_id}/tools/{tool_id}/hosts person,runner',
  startExecution: 'POST /my/projects/{project_id}/tools/{tool_id}/start person,runner',
  approve: 'POST /my/projects/{project_id}/approvals/{approval_id}/approve person,front_end',
  reject: 'POST /my/projects/{project_id}/approvals/{approval_id}/reject person,front_end',
  tryCall: 'POST /my/projects/{project_id}/approvals/{approval_id}/try person,front_end',
  submitPreview: 'POST /my/projects/{project_id}/approvals/{approval_id}/preview person,runner',
  heartbeat: 'POST /my/projects/{project_id}/runners/{runner_id}/heartbeat person,runner',
  executeTool: 'POST /my/tools/execute person,agent',
  getExecution: 'GET /my/tools/{tool_id} person,front_end,runner,agent',
  cancelExecution: 'POST /my/tools/{tool_id}/cancel person,front_end,agent',
  undoExecution: 'POST /my/tools/{tool_id}/undo person,front_end',
  history: 'GET /my/tools/history person,front_end',
  metrics: 'GET /my/tools/metrics person,front_end',
  listApprovals: 'GET /my/approvals person,front_end',
  getApproval: 'GET /my/approvals/{approval_id} person,front_end,runner',
  approveById: 'POST /my/approvals/{approval_id}/approve person,front_end',
  confirm: 'POST /my/approvals/{approval_id}/confirm person,front_end',
  rejectById: 'POST /my/approvals/{approval_id}/reject person,front_end',
  listGrants: 'GET /my/grants person,front_end',
  revokeGrant: 'DELETE /my/grants/{grant_id} person,front_end',
  getPolicy: 'GET /my/policy person,front_end',
  putPolicy: 'PUT /my/policy person',
  backtestPolicy: 'POST /my/policy/backtest person,front_end',
  listTokens: 'GET /my/tokens person',
  createToken: 'POST /my/tokens person',
  revokeToken: 'DELETE /my/tokens/{token_id} person',
  signIn: 'POST /sign-in public',
  listRunners: 'GET /my/runners person,front_end',
  listProjects: 'GET /my/projects person,front_end,agent',
  createProject: 'POST /my/projects person',
  listSessions: 'GET /my/projects/{project_id}/sessions person,front_end',
  createSession: 'POST /my/projects/{project_id}/sessions person,front_end,agent',
  changeSession: 'PATCH /my/sessions/{session_id} person,front_end',
  getModel: 'GET /my/model person,front_end',
  getRun: 'GET /my/runs/{run_id} person,front_end',
  stopRun: 'POST /my/runs/{run_id}/stop person,front_end',
  deleteSession: 'DELETE /my/sessions/{session_id} person,front_end',
  previewRewind: 'GET /my/sessions/{session_id}/rewind person,front_end',
  rewindSession: 'POST /my/sessions/{session_id}/rewind person,front_end',
  branchSession: 'POST /my/sessions/{session_id}/branch person,front_end',
  runChanges: 'GET /my/runs/{run_id}/changes person,front_end',
  undoRun: 'POST /my/runs/{run_id}/undo person,front_end',
};

/** The columns that most routes leave out. */
const pinnedColumns = {
  sendMessage: 'bodySize=result',
  changeQueuedMessage: 'bodySize=result',
  sendQueuedMessage: 'repeatable=true',
  submitResult: 'bodySize=result maxBodyValues=500000 rate=runner repeatable=true',
  submitProgress: 'bodySize=result rate=runner',
  askForHost: 'rate=runner',
  startExecution: 'rate=runner',
  approve: 'bodySize=call repeatable=true',
  reject: 'repeatable=true',
  tryCall: 'status=202',
  submitPreview: 'bodySize=result repeatable=true',
  heartbeat: 'repeatable=true',
  executeTool: 'bodySize=call',
  getExecution: 'sendsFiles=true',
  getApproval: 'sendsFiles=true',
  approveById: 'bodySize=call repeatable=true',
  confirm: 'bodySize=call repeatable=true',
  rejectById: 'repeatable=true',
  stopRun: 'repeatable=true',
  rewindSession: 'repeatable=true',
  runChanges: 'sendsFiles=true',
  undoRun: 'repeatable=true',
};

/** The fields of queries and bodies; `?` where one may be missing, `|` between alternatives. */
const pinnedBodies = {
  'sendMessage request': 'content session_id? model? when_busy?',
  'sendMessage response': 'success message_id session_id run_id queued',
  'changeQueuedMessage request': 'content',
  'changeQueuedMessage response': 'success message',
  'removeQueuedMessage response': 'success',
  'sendQueuedMessage response': 'success message_id session_id run_id queued',
  'listMessages query': 'session_id? limit? cursor?',
  'listMessages response': 'success messages queued next_cursor',
  'projectStream query': 'runner? workspace? capabilities? instance? last_event_id?',
  'personStream query': 'runner? workspace? capabilities? instance? last_event_id?',
  'availableTools response': 'success tools total_count',
  'submitResult request':
    'status result run_changes? execution_time_ms? attempt? runner_id? instance? undo_id? undo_tool_ids? | status error result? execution_time_ms? attempt? runner_id? instance? undo_id? undo_tool_ids? | status error? result? execution_time_ms? attempt? runner_id? instance? undo_id? undo_tool_ids?',
  'submitResult response': 'success tool_id status message audit_head?',
  'submitProgress request': 'progress? message? output? runner_id? instance?',
  'submitProgress response': 'success',
  'askForHost request': 'host runner_id? instance?',
  'askForHost response': 'success tool_id status',
  'startExecution request': 'digest runner_id? attempt? instance?',
  'startExecution response': 'success tool_id status attempt',
  'approve request': 'decision? digest? scope? pattern? only_here? include_high? tool_params? device?',
  'approve response': 'success approval_id status grant_id? rule_id?',
  'reject request': 'decision? reason? message? device?',
  'reject response': 'success approval_id status grant_id? rule_id?',
  'tryCall request': 'device?',
  'tryCall response': 'success approval',
  'submitPreview request':
    'runner_id instance? revision reasons preview digest_base digest? risk_level network | runner_id instance? revision reasons refused',
  'submitPreview response': 'success',
  'heartbeat request': 'instance? queued executing unacknowledged custom_tools? limits? policy?',
  'heartbeat response': 'success calls limits? audit_head?',
  'executeTool request': 'tool_name tool_params? session_id?',
  'executeTool response': 'success tool_id session_id approval_id status result error',
  'getExecution response':
    'success execution result late_result? requested_params? preview decision omitted?',
  'cancelExecution request': 'reason?',
  'cancelExecution response': 'success tool_id status',
  'undoExecution request': 'force?',
  'undoExecution response': 'success tool_id undo_id',
  'history query':
    'q? project_id? session_id? run_id? tool_name? status? risk_level? since? until? limit? cursor?',
  'history response': 'success executions next_cursor',
  'metrics query': 'project_id? since?',
  'metrics response': 'success tools since bucket_seconds series',
  'listApprovals response': 'success approvals',
  'getApproval response': 'success approval',
  'approveById request': 'decision? digest? scope? pattern? only_here? include_high? tool_params? device?',
  'approveById response': 'success approval_id status grant_id? rule_id?',
  'confirm request': 'decision? digest? scope? pattern? only_here? include_high? tool_params? device?',
  'confirm response': 'success approval_id status grant_id? rule_id?',
  'rejectById request': 'decision? reason? message? device?',
  'rejectById response': 'success approval_id status grant_id? rule_id?',
  'listGrants response': 'success grants',
  'revokeGrant response': 'success grant',
  'getPolicy response': 'success policy file?',
  'putPolicy request': 'version rules? sensitive_paths? programs? replaces?',
  'putPolicy response': 'success policy file?',
  'backtestPolicy request': 'rule further_rules? since?',
  'backtestPolicy response':
    'success considered matched would_change approved_before rejected_before examples',
  'listTokens response': 'success tokens',
  'createToken request': 'name scope project_id? expires_in_seconds?',
  'createToken response': 'success token details',
  'revokeToken response': 'success',
  'signIn request': 'code',
  'signIn response': 'success token expires_at',
  'listRunners response': 'success runners limits?',
  'listProjects response': 'success projects',
  'createProject request': 'name workspace?',
  'createProject response': 'success project',
  'listSessions query': 'q?',
  'listSessions response': 'success sessions',
  'createSession request': 'title?',
  'createSession response': 'success session',
  'changeSession request': 'title? mode?',
  'changeSession response': 'success session',
  'getModel response': 'success model problem',
  'getRun response': 'success run',
  'stopRun response': 'success run',
  'deleteSession response': 'success',
  'previewRewind query': 'message_id',
  'previewRewind response': 'success session_id message_id messages files kept runner_connected',
  'rewindSession request': 'message_id files force?',
  'rewindSession response': 'success session_id message_id messages files',
  'branchSession request': 'message_id title?',
  'branchSession response': 'success session',
  'runChanges response': 'success run_id files',
  'undoRun request': 'path? force?',
  'undoRun response': 'success run_id files',
  'error response': 'success error code standing? tool_id? request_id?',
};

const all: [string, Route][] = Object.entries(routes);

describe('routes', () => {
  it('[RE-1] [RE-2] keeps method, path and scopes of every route', () => {
    const actual = all.map(([name, { method, path, scopes }]) => [
      name,
      `${method} ${path} ${String(scopes)}`,
    ]);
    expect(Object.fromEntries(actual)).toEqual(pinnedRoutes);
  });

  it('[RE-3] keeps the fields of every query and body', () => {
    const actual = all.flatMap(([name, { query, body, response }]) => [
      ...(query ? [[`${name} query`, fieldsOf(query, 'input')]] : []),
      ...(body ? [[`${name} request`, fieldsOf(body, 'input')]] : []),
      ...(response === 'stream' ? [] : [[`${name} response`, fieldsOf(response, 'output')]]),
    ]);
    const errors = ['error response', fieldsOf(errorBodySchema, 'output')];
    expect(Object.fromEntries([...actual, errors])).toEqual(pinnedBodies);
  });

  it('keeps how large a body may be, which limits count, and what a client may send again', () => {
    const columns = ['bodySize', 'maxBodyValues', 'rate', 'repeatable', 'sendsFiles', 'status'] as const;
    const actual = all.flatMap(([name, route]) => {
      const said = columns.flatMap((column) =>
        route[column] === undefined ? [] : `${column}=${route[column]}`,
      );
      return said.length === 0 ? [] : [[name, said.join(' ')]];
    });
    expect(Object.fromEntries(actual)).toEqual(pinnedColumns);
  });

  it('has no two routes with the same method and path', () => {
    const places = all.map(([, { method, path }]) => `${method} ${path.replace(/\{\w+\}/g, '{}')}`);
    expect(new Set(places).size).toBe(places.length);
  });

  it('[AP-9] lets no agent and no runner decide', () => {
    const decisive: Route[] = [
      routes.approve,
      routes.reject,
      routes.approveById,
      routes.confirm,
      routes.rejectById,
      routes.putPolicy,
      routes.createToken,
      routes.changeSession,
    ];
    const scopes = decisive.flatMap((route) => route.scopes);
    expect(scopes).not.toContain('agent');
    expect(scopes).not.toContain('runner');
  });

  it('[AP-9] gives a runner the stream, its calls and previews, and nothing else', () => {
    const open = all.filter(([, { scopes }]) => scopes.includes('runner')).map(([name]) => name);
    expect(open).toEqual([
      'projectStream',
      'personStream',
      'submitResult',
      'submitProgress',
      'askForHost',
      'startExecution',
      'submitPreview',
      'heartbeat',
      'getExecution', // for the parts that a signal left out (EV-2)
      'getApproval', // for the parts that an approval request left out
    ]);
  });

  it('[AP-9] gives an agent what it needs to execute, read and cancel, and nothing else', () => {
    const open = all.filter(([, { scopes }]) => scopes.includes('agent')).map(([name]) => name);
    expect(open).toEqual([
      'availableTools',
      'executeTool',
      'getExecution',
      'cancelExecution',
      'listProjects',
      'createSession',
    ]);
  });

  it('[RE-4] can be written as JSON Schema without references, for /openapi.json', () => {
    for (const [name, { query, body, response }] of all) {
      const schemas = [query, body, response].filter((schema) => schema instanceof z.ZodType);
      const written = schemas.map((schema) => JSON.stringify(z.toJSONSchema(schema, { io: 'input' })));
      expect(written.join(), name).not.toContain('$ref');
    }
  });
});

function fieldsOf(schema: z.ZodType, io: 'input' | 'output'): string {
  const written = z.toJSONSchema(schema, { io });
  const alternatives = written.anyOf ?? written.oneOf ?? [written];
  return alternatives
    .map(({ properties = {}, required = [] }) =>
      Object.keys(properties)
        .map((name) => (required.includes(name) ? name : `${name}?`))
        .join(' '),
    )
    .join(' | ');
}
