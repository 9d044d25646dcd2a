import type { z } from 'zod';
import { successSchema } from '../common.ts';
import { maxParamValues } from '../json-value.ts';
import * as conversation from './conversation.ts';
import * as decisions from './decisions.ts';
import * as executions from './executions.ts';
import type { TokenScope } from './permissions.ts';
import * as permissions from './permissions.ts';
import * as rewind from './rewind.ts';
import * as fromRunner from './runner.ts';

/** One route of the API (RE-1, RE-2). Server, client, OpenAPI document and docs are derived from the table of routes. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Contains `{name}` for each parameter. */
  readonly path: string;
  readonly summary: string;
  /** The scopes of tokens that may call the route (AP-9); `public` needs no token. */
  readonly scopes: readonly TokenScope[] | 'public';
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /**
   * The server setting that limits the size of the body. `call`: callBodyBytes, because the body may contain a whole file
   * (also limited per person). `result`: resultBodyBytes, because it may contain a tool's output. Default: bodyBytes.
   */
  readonly bodySize?: 'call' | 'result';
  /** The maximum number of JSON values in the body; `maxParamValues` by default. */
  readonly maxBodyValues?: number;
  /** Limits requests by runnerRequestsPerSecond, because tools cause them and not people. */
  readonly rate?: 'runner';
  /**
   * A client may resend this POST if it got no response: the server responds as before (EX-7) or says which decision
   * stands (AP-2). Resending a message or a tool call would create a second one.
   */
  readonly repeatable?: true;
  /** The status of a successful response; 200 by default. */
  readonly status?: 202;
  /** The body of a successful response; `'stream'` means Server-Sent Events. Every error has the shape of `errorBodySchema`. */
  readonly response: z.ZodType | 'stream';
  /** The response may contain whole files, so the server writes such responses of one person one at a time. */
  readonly sendsFiles?: true;
}

const everyone = ['person', 'front_end', 'runner', 'agent'] as const;
const readers = ['person', 'front_end', 'agent'] as const;
const listeners = ['person', 'front_end', 'runner'] as const; // not agents: events tell what other agents do
const deciders = ['person', 'front_end'] as const;
const person = ['person'] as const;
const runner = ['person', 'runner'] as const;
const project = '/my/projects/{project_id}';

type Definition = Omit<Route, 'method'>;
const get = <const D extends Definition>(definition: D) => ({ method: 'GET', ...definition }) as const;
const post = <const D extends Definition>(definition: D) => ({ method: 'POST', ...definition }) as const;
const put = <const D extends Definition>(definition: D) => ({ method: 'PUT', ...definition }) as const;
const patch = <const D extends Definition>(definition: D) => ({ method: 'PATCH', ...definition }) as const;
const remove = <const D extends Definition>(definition: D) => ({ method: 'DELETE', ...definition }) as const;

/** The part that approve, approveById and confirm have in common: one handler serves them all (RE-2). */
const approving = {
  scopes: deciders,
  repeatable: true,
  body: decisions.approveBodySchema,
  bodySize: 'call',
  response: decisions.decisionResponseSchema,
} as const;

export const routes = {
  sendMessage: post({
    path: `${project}/chat/messages`,
    summary: 'Send a message; the agent starts a run, or gets it while it works.',
    scopes: deciders,
    body: conversation.sendMessageBodySchema,
    bodySize: 'result',
    response: conversation.sendMessageResponseSchema,
  }),
  listMessages: get({
    path: `${project}/chat/messages`,
    summary: 'The conversation, oldest first.',
    scopes: deciders,
    query: conversation.messagesQuerySchema,
    response: conversation.messagesResponseSchema,
  }),
  changeQueuedMessage: put({
    path: `${project}/chat/queue/{message_id}`,
    summary: 'Change the text of a message that waits.',
    scopes: deciders,
    body: conversation.queuedMessageBodySchema,
    bodySize: 'result',
    response: conversation.queuedMessageResponseSchema,
  }),
  removeQueuedMessage: remove({
    path: `${project}/chat/queue/{message_id}`,
    summary: 'Take a message that waits out of the queue.',
    scopes: deciders,
    response: successSchema,
  }),
  sendQueuedMessage: post({
    path: `${project}/chat/queue/{message_id}/send`,
    summary: 'Give a message that waits to the agent now; it starts a run if none is under way.',
    scopes: deciders,
    repeatable: true,
    response: conversation.sendMessageResponseSchema,
  }),
  projectStream: get({
    path: `${project}/chat/stream`,
    summary: 'Events of one project.',
    scopes: listeners,
    query: conversation.streamQuerySchema,
    response: 'stream',
  }),
  personStream: get({
    path: '/my/stream',
    summary: "Events of all of a person's projects.",
    scopes: listeners,
    query: conversation.streamQuerySchema,
    response: 'stream',
  }),
  availableTools: get({
    path: `${project}/tools/available`,
    summary: 'The tools that an agent may use in this project.',
    scopes: readers,
    response: executions.availableToolsResponseSchema,
  }),
  submitResult: post({
    path: `${project}/tools/{tool_id}/result`,
    summary: 'Report the result of a tool call.',
    scopes: runner,
    repeatable: true,
    rate: 'runner',
    body: fromRunner.resultBodySchema,
    bodySize: 'result',
    maxBodyValues: 10 * maxParamValues, // results may be larger, and come from the person's own runner
    response: fromRunner.resultResponseSchema,
  }),
  submitProgress: post({
    path: `${project}/tools/{tool_id}/progress`,
    summary: 'Report the progress and the output of a tool call.',
    scopes: runner,
    rate: 'runner',
    body: fromRunner.progressBodySchema,
    bodySize: 'result',
    response: successSchema,
  }),
  askForHost: post({
    path: `${project}/tools/{tool_id}/hosts`,
    summary: 'Ask whether a running command may reach a host that its card did not name.',
    scopes: runner,
    rate: 'runner',
    body: fromRunner.hostBodySchema,
    response: fromRunner.hostResponseSchema,
  }),
  startExecution: post({
    path: `${project}/tools/{tool_id}/start`,
    summary: 'Claim a call before executing it.',
    scopes: runner,
    rate: 'runner',
    body: fromRunner.startBodySchema,
    response: fromRunner.startResponseSchema,
  }),
  approve: post({
    path: `${project}/approvals/{approval_id}/approve`,
    summary: 'Approve what was displayed.',
    ...approving,
  }),
  reject: post({
    path: `${project}/approvals/{approval_id}/reject`,
    summary: 'Reject, with a reason or a message for the agent.',
    scopes: deciders,
    repeatable: true,
    body: decisions.rejectBodySchema,
    response: decisions.decisionResponseSchema,
  }),
  tryCall: post({
    path: `${project}/approvals/{approval_id}/try`,
    summary: 'Try the command of an approval in a layer, before anybody decides.',
    scopes: deciders,
    body: decisions.tryBodySchema,
    status: 202,
    response: decisions.approvalResponseSchema,
  }),
  submitPreview: post({
    path: `${project}/approvals/{approval_id}/preview`,
    summary: 'Send the preview that the runner computed.',
    scopes: runner,
    repeatable: true,
    body: decisions.previewBodySchema,
    bodySize: 'result',
    response: successSchema,
  }),
  heartbeat: post({
    path: `${project}/runners/{runner_id}/heartbeat`,
    summary: 'Report that a runner is alive, with the calls that it has.',
    scopes: runner,
    repeatable: true,
    body: fromRunner.heartbeatBodySchema,
    response: fromRunner.heartbeatResponseSchema,
  }),

  executeTool: post({
    path: '/my/tools/execute',
    summary: 'Call a tool, as a person or an outside agent.',
    scopes: ['person', 'agent'],
    body: executions.executeBodySchema,
    bodySize: 'call',
    response: executions.executeResponseSchema,
  }),
  getExecution: get({
    path: '/my/tools/{tool_id}',
    summary: 'One call in full; for an agent or a runner, one of its own.',
    scopes: everyone,
    response: executions.executionDetailResponseSchema,
    sendsFiles: true,
  }),
  cancelExecution: post({
    path: '/my/tools/{tool_id}/cancel',
    summary: 'Cancel a call in any state that is not final; for an agent, one of its own.',
    scopes: readers,
    body: executions.cancelBodySchema,
    response: executions.cancelResponseSchema,
  }),
  undoExecution: post({
    path: '/my/tools/{tool_id}/undo',
    summary: 'Restore what a file tool or a landed command changed.',
    scopes: deciders,
    body: executions.undoBodySchema,
    response: executions.undoResponseSchema,
  }),
  history: get({
    path: '/my/tools/history',
    summary: 'Earlier calls, newest first.',
    scopes: deciders,
    query: executions.historyQuerySchema,
    response: executions.historyResponseSchema,
  }),
  metrics: get({
    path: '/my/tools/metrics',
    summary: 'Counts and times per tool.',
    scopes: deciders,
    query: executions.metricsQuerySchema,
    response: executions.metricsResponseSchema,
  }),
  listApprovals: get({
    path: '/my/approvals',
    summary: 'All pending approvals.',
    scopes: deciders,
    response: decisions.approvalsResponseSchema,
  }),
  getApproval: get({
    path: '/my/approvals/{approval_id}',
    summary: 'One approval in full; for a runner, one that it previews.',
    scopes: listeners,
    response: decisions.approvalResponseSchema,
    sendsFiles: true,
  }),
  approveById: post({
    path: '/my/approvals/{approval_id}/approve',
    summary: 'The same as approve, without naming the project.',
    ...approving,
  }),
  confirm: post({
    path: '/my/approvals/{approval_id}/confirm',
    summary: 'Another name of approveById.',
    ...approving,
  }),
  rejectById: post({
    path: '/my/approvals/{approval_id}/reject',
    summary: 'The same as reject, without naming the project.',
    scopes: deciders,
    repeatable: true,
    body: decisions.rejectBodySchema,
    response: decisions.decisionResponseSchema,
  }),

  listGrants: get({
    path: '/my/grants',
    summary: 'What was granted, and how often it was used.',
    scopes: deciders,
    response: permissions.grantsResponseSchema,
  }),
  revokeGrant: remove({
    path: '/my/grants/{grant_id}',
    summary: 'Revoke a grant at once.',
    scopes: deciders,
    response: permissions.grantResponseSchema,
  }),
  getPolicy: get({
    path: '/my/policy',
    summary: "The person's own policy.",
    scopes: deciders,
    response: permissions.policyResponseSchema,
  }),
  putPolicy: put({
    path: '/my/policy',
    summary: "Replace the person's own policy.",
    scopes: person,
    body: permissions.policyBodySchema,
    response: permissions.policyResponseSchema,
  }),
  backtestPolicy: post({
    path: '/my/policy/backtest',
    summary: 'What a rule would have decided on the recorded history.',
    scopes: deciders,
    body: permissions.backtestBodySchema,
    response: permissions.backtestResponseSchema,
  }),
  listTokens: get({
    path: '/my/tokens',
    summary: 'Tokens, without their values.',
    scopes: person,
    response: permissions.tokensResponseSchema,
  }),
  createToken: post({
    path: '/my/tokens',
    summary: 'Make a token; it is shown once.',
    scopes: person,
    body: permissions.tokenBodySchema,
    response: permissions.tokenCreatedResponseSchema,
  }),
  revokeToken: remove({
    path: '/my/tokens/{token_id}',
    summary: 'Revoke a token at once.',
    scopes: person,
    response: successSchema,
  }),
  signIn: post({
    path: '/sign-in',
    summary: 'Exchange a single-use sign-in code for a token.',
    scopes: 'public',
    body: permissions.signInBodySchema,
    response: permissions.signInResponseSchema,
  }),
  listRunners: get({
    path: '/my/runners',
    summary: 'Runners that are or were connected.',
    scopes: deciders,
    response: conversation.runnersResponseSchema,
  }),
  listProjects: get({
    path: '/my/projects',
    summary: "The person's projects.",
    scopes: readers,
    response: conversation.projectsResponseSchema,
  }),
  createProject: post({
    path: '/my/projects',
    summary: 'Make a project.',
    scopes: person,
    body: conversation.projectBodySchema,
    response: conversation.projectResponseSchema,
  }),
  listSessions: get({
    path: `${project}/sessions`,
    summary: 'The conversations of a project, newest first.',
    scopes: deciders,
    query: conversation.sessionsQuerySchema,
    response: conversation.sessionsResponseSchema,
  }),
  createSession: post({
    path: `${project}/sessions`,
    summary: 'Start a new conversation.',
    scopes: readers,
    body: conversation.sessionBodySchema,
    response: conversation.sessionResponseSchema,
  }),
  changeSession: patch({
    path: '/my/sessions/{session_id}',
    summary: 'Rename a conversation, or switch its mode at once.',
    scopes: deciders,
    body: conversation.sessionChangesBodySchema,
    response: conversation.sessionResponseSchema,
  }),
  getModel: get({
    path: '/my/model',
    summary: 'Which model answers messages, and what it lacks.',
    scopes: deciders,
    response: conversation.modelResponseSchema,
  }),
  getRun: get({
    path: '/my/runs/{run_id}',
    summary: 'One run: its state and what it used.',
    scopes: deciders,
    response: conversation.runResponseSchema,
  }),
  stopRun: post({
    path: '/my/runs/{run_id}/stop',
    summary: 'Stop a run at once.',
    scopes: deciders,
    repeatable: true,
    response: conversation.runResponseSchema,
  }),

  deleteSession: remove({
    path: '/my/sessions/{session_id}',
    summary: 'Delete a conversation with its messages; its calls stay in the history.',
    scopes: deciders,
    response: successSchema,
  }),
  previewRewind: get({
    path: '/my/sessions/{session_id}/rewind',
    summary: 'What going back to before a message would put back.',
    scopes: deciders,
    query: rewind.rewindQuerySchema,
    response: rewind.rewindPreviewResponseSchema,
  }),
  rewindSession: post({
    path: '/my/sessions/{session_id}/rewind',
    summary: 'Go back to before a message; with files, put back what calls changed since.',
    scopes: deciders,
    repeatable: true,
    body: rewind.rewindBodySchema,
    response: rewind.rewindResponseSchema,
  }),
  branchSession: post({
    path: '/my/sessions/{session_id}/branch',
    summary: 'A new conversation with the messages up to one of them.',
    scopes: deciders,
    body: rewind.branchBodySchema,
    response: conversation.sessionResponseSchema,
  }),
  runChanges: get({
    path: '/my/runs/{run_id}/changes',
    summary: 'The files that a run changed, each with one diff of the whole run.',
    scopes: deciders,
    response: rewind.runChangesResponseSchema,
    sendsFiles: true,
  }),
  undoRun: post({
    path: '/my/runs/{run_id}/undo',
    summary: 'Put back what a run changed: all of it, or one file.',
    scopes: deciders,
    repeatable: true,
    body: rewind.undoRunBodySchema,
    response: rewind.undoRunResponseSchema,
  }),
} as const;

export type RouteName = keyof typeof routes;

/** The body that a route takes, before the server fills in defaults. */
export type RequestBody<Name extends RouteName> = (typeof routes)[Name] extends {
  readonly body: infer Body extends z.ZodType;
}
  ? z.input<Body>
  : never;

/** The same body after the server has parsed it and filled in defaults. */
export type ParsedBody<Name extends RouteName> = (typeof routes)[Name] extends {
  readonly body: infer Body extends z.ZodType;
}
  ? z.output<Body>
  : never;

/** The JSON body of a route's 200 response. */
export type ResponseBody<Name extends RouteName> = (typeof routes)[Name] extends {
  readonly response: infer Body extends z.ZodType;
}
  ? z.output<Body>
  : never;
