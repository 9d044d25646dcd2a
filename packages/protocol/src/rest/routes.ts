import type { z } from 'zod';
import { maxParamValues } from '../json-value.ts';
import { policyFileSchema } from '../policy-file.ts';
import * as conversation from './conversation.ts';
import * as decisions from './decisions.ts';
import * as executions from './executions.ts';
import type { TokenScope } from './permissions.ts';
import * as permissions from './permissions.ts';
import * as fromRunner from './runner.ts';

/** One route of the API (RE-1, RE-2). Server, client, OpenAPI and documentation are made from this table. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With `{name}` for each parameter. */
  readonly path: string;
  readonly summary: string;
  /** Which tokens may call it (AP-9); `public` needs none. */
  readonly scopes: readonly TokenScope[] | 'public';
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /**
   * Which server setting limits the body's size. `call`: it may contain a whole file (callBodyBytes; also limited per
   * person). `result`: it may contain a tool's output (resultBodyBytes). If left out: bodyBytes.
   */
  readonly bodySize?: 'call' | 'result';
  /** The maximum number of JSON values in the body; `maxParamValues` if left out. */
  readonly maxBodyValues?: number;
  /** Tools cause these requests, not people: they have a limit of their own (runnerRequestsPerSecond). */
  readonly rate?: 'runner';
  /**
   * A POST that is safe to resend after no response: the server gives the same answer again (EX-7) or says which decision
   * stands (AP-2). Resending a message or a tool call would create a second one.
   */
  readonly repeatable?: true;
  /** The body of a 200 response; `'stream'` means Server-Sent Events. Every error has the shape of `errorBodySchema`. */
  readonly response: z.ZodType | 'stream';
  /** The response may contain whole files, so the server writes such responses of one person one at a time. */
  readonly sendsFiles?: true;
}

const everyone = ['person', 'front_end', 'runner', 'agent'] as const;
const readers = ['person', 'front_end', 'agent'] as const;
const listeners = ['person', 'front_end', 'runner'] as const; // an agent would hear what others do
const deciders = ['person', 'front_end'] as const;
const person = ['person'] as const;
const runner = ['person', 'runner'] as const;
const project = '/my/projects/{project_id}';

const route = <const R extends Route>(definition: R): R => definition;

export const routes = {
  sendMessage: route({
    method: 'POST',
    path: `${project}/chat/messages`,
    summary: 'Send a message; the agent starts a run.',
    scopes: deciders,
    body: conversation.sendMessageBodySchema,
    bodySize: 'result',
    response: conversation.sendMessageResponseSchema,
  }),
  listMessages: route({
    method: 'GET',
    path: `${project}/chat/messages`,
    summary: 'The conversation, oldest first.',
    scopes: deciders,
    query: conversation.messagesQuerySchema,
    response: conversation.messagesResponseSchema,
  }),
  projectStream: route({
    method: 'GET',
    path: `${project}/chat/stream`,
    summary: 'Events of one project.',
    scopes: listeners,
    query: conversation.streamQuerySchema,
    response: 'stream',
  }),
  personStream: route({
    method: 'GET',
    path: '/my/stream',
    summary: "Events of all of a person's projects.",
    scopes: listeners,
    query: conversation.streamQuerySchema,
    response: 'stream',
  }),
  availableTools: route({
    method: 'GET',
    path: `${project}/tools/available`,
    summary: 'The tools that an agent may use in this project.',
    scopes: readers,
    response: executions.availableToolsResponseSchema,
  }),
  submitResult: route({
    method: 'POST',
    path: `${project}/tools/{tool_id}/result`,
    summary: 'What a tool call came to.',
    scopes: runner,
    repeatable: true,
    rate: 'runner',
    body: fromRunner.resultBodySchema,
    bodySize: 'result',
    maxBodyValues: 10 * maxParamValues, // results may be larger, and come from the person's own runner
    response: fromRunner.resultResponseSchema,
  }),
  submitProgress: route({
    method: 'POST',
    path: `${project}/tools/{tool_id}/progress`,
    summary: 'How far a tool call is, and its output so far.',
    scopes: runner,
    rate: 'runner',
    body: fromRunner.progressBodySchema,
    bodySize: 'result',
    response: permissions.doneResponseSchema,
  }),
  startExecution: route({
    method: 'POST',
    path: `${project}/tools/{tool_id}/start`,
    summary: 'Claim a call before executing it.',
    scopes: runner,
    rate: 'runner',
    body: fromRunner.startBodySchema,
    response: fromRunner.startResponseSchema,
  }),
  approve: route({
    method: 'POST',
    path: `${project}/approvals/{approval_id}/approve`,
    summary: 'Approve what was displayed.',
    scopes: deciders,
    repeatable: true,
    body: decisions.approveBodySchema,
    bodySize: 'call',
    response: decisions.decisionResponseSchema,
  }),
  reject: route({
    method: 'POST',
    path: `${project}/approvals/{approval_id}/reject`,
    summary: 'Reject, with a reason or a message for the agent.',
    scopes: deciders,
    repeatable: true,
    body: decisions.rejectBodySchema,
    response: decisions.decisionResponseSchema,
  }),
  submitPreview: route({
    method: 'POST',
    path: `${project}/approvals/{approval_id}/preview`,
    summary: 'What would happen, computed by the runner.',
    scopes: runner,
    repeatable: true,
    body: decisions.previewBodySchema,
    bodySize: 'result',
    response: permissions.doneResponseSchema,
  }),
  heartbeat: route({
    method: 'POST',
    path: `${project}/runners/{runner_id}/heartbeat`,
    summary: 'A runner is alive and says what it has.',
    scopes: runner,
    repeatable: true,
    body: fromRunner.heartbeatBodySchema,
    response: fromRunner.heartbeatResponseSchema,
  }),

  executeTool: route({
    method: 'POST',
    path: '/my/tools/execute',
    summary: 'Call a tool, as a person or an outside agent.',
    scopes: ['person', 'agent'],
    body: executions.executeBodySchema,
    bodySize: 'call',
    response: executions.executeResponseSchema,
  }),
  getExecution: route({
    method: 'GET',
    path: '/my/tools/{tool_id}',
    summary: 'One call in full; for an agent or a runner, one of its own.',
    scopes: everyone,
    response: executions.executionDetailResponseSchema,
    sendsFiles: true,
  }),
  cancelExecution: route({
    method: 'POST',
    path: '/my/tools/{tool_id}/cancel',
    summary: 'Cancel a call in any state that is not final; for an agent, one of its own.',
    scopes: readers,
    body: executions.cancelBodySchema,
    response: executions.cancelResponseSchema,
  }),
  undoExecution: route({
    method: 'POST',
    path: '/my/tools/{tool_id}/undo',
    summary: 'Restore what a file tool changed.',
    scopes: deciders,
    body: executions.undoBodySchema,
    response: executions.undoResponseSchema,
  }),
  history: route({
    method: 'GET',
    path: '/my/tools/history',
    summary: 'Earlier calls, newest first.',
    scopes: deciders,
    query: executions.historyQuerySchema,
    response: executions.historyResponseSchema,
  }),
  metrics: route({
    method: 'GET',
    path: '/my/tools/metrics',
    summary: 'Counts and times per tool.',
    scopes: deciders,
    query: executions.metricsQuerySchema,
    response: executions.metricsResponseSchema,
  }),
  listApprovals: route({
    method: 'GET',
    path: '/my/approvals',
    summary: 'Everything that waits for a decision.',
    scopes: deciders,
    response: decisions.approvalsResponseSchema,
  }),
  getApproval: route({
    method: 'GET',
    path: '/my/approvals/{approval_id}',
    summary: 'One approval in full; for a runner, one that it previews.',
    scopes: listeners,
    response: decisions.approvalResponseSchema,
    sendsFiles: true,
  }),
  approveById: route({
    method: 'POST',
    path: '/my/approvals/{approval_id}/approve',
    summary: 'The same as approve, without naming the project.',
    scopes: deciders,
    repeatable: true,
    body: decisions.approveBodySchema,
    bodySize: 'call',
    response: decisions.decisionResponseSchema,
  }),
  confirm: route({
    method: 'POST',
    path: '/my/approvals/{approval_id}/confirm',
    summary: 'Another name of approveById.',
    scopes: deciders,
    repeatable: true,
    body: decisions.approveBodySchema,
    bodySize: 'call',
    response: decisions.decisionResponseSchema,
  }),
  rejectById: route({
    method: 'POST',
    path: '/my/approvals/{approval_id}/reject',
    summary: 'The same as reject, without naming the project.',
    scopes: deciders,
    repeatable: true,
    body: decisions.rejectBodySchema,
    response: decisions.decisionResponseSchema,
  }),

  listGrants: route({
    method: 'GET',
    path: '/my/grants',
    summary: 'What was granted, and how often it was used.',
    scopes: deciders,
    response: permissions.grantsResponseSchema,
  }),
  revokeGrant: route({
    method: 'DELETE',
    path: '/my/grants/{grant_id}',
    summary: 'Revoke a grant at once.',
    scopes: deciders,
    response: permissions.grantResponseSchema,
  }),
  getPolicy: route({
    method: 'GET',
    path: '/my/policy',
    summary: "The person's own policy.",
    scopes: deciders,
    response: permissions.policyResponseSchema,
  }),
  putPolicy: route({
    method: 'PUT',
    path: '/my/policy',
    summary: "Replace the person's own policy.",
    scopes: person,
    body: policyFileSchema,
    response: permissions.policyResponseSchema,
  }),
  backtestPolicy: route({
    method: 'POST',
    path: '/my/policy/backtest',
    summary: 'What a rule would have decided on the recorded history.',
    scopes: deciders,
    body: permissions.backtestBodySchema,
    response: permissions.backtestResponseSchema,
  }),
  listTokens: route({
    method: 'GET',
    path: '/my/tokens',
    summary: 'Tokens, without their values.',
    scopes: person,
    response: permissions.tokensResponseSchema,
  }),
  createToken: route({
    method: 'POST',
    path: '/my/tokens',
    summary: 'Make a token; it is shown once.',
    scopes: person,
    body: permissions.tokenBodySchema,
    response: permissions.tokenCreatedResponseSchema,
  }),
  revokeToken: route({
    method: 'DELETE',
    path: '/my/tokens/{token_id}',
    summary: 'Revoke a token at once.',
    scopes: person,
    response: permissions.doneResponseSchema,
  }),
  signIn: route({
    method: 'POST',
    path: '/sign-in',
    summary: 'Exchange a single-use sign-in code for a token.',
    scopes: 'public',
    body: permissions.signInBodySchema,
    response: permissions.signInResponseSchema,
  }),
  listRunners: route({
    method: 'GET',
    path: '/my/runners',
    summary: 'Runners that are or were connected.',
    scopes: deciders,
    response: conversation.runnersResponseSchema,
  }),
  listProjects: route({
    method: 'GET',
    path: '/my/projects',
    summary: "The person's projects.",
    scopes: readers,
    response: conversation.projectsResponseSchema,
  }),
  createProject: route({
    method: 'POST',
    path: '/my/projects',
    summary: 'Make a project.',
    scopes: person,
    body: conversation.projectBodySchema,
    response: conversation.projectResponseSchema,
  }),
  listSessions: route({
    method: 'GET',
    path: `${project}/sessions`,
    summary: 'The conversations of a project, newest first.',
    scopes: deciders,
    response: conversation.sessionsResponseSchema,
  }),
  createSession: route({
    method: 'POST',
    path: `${project}/sessions`,
    summary: 'Start a new conversation.',
    scopes: readers,
    body: conversation.sessionBodySchema,
    response: conversation.sessionResponseSchema,
  }),
  getModel: route({
    method: 'GET',
    path: '/my/model',
    summary: 'Which model answers messages, and what it lacks.',
    scopes: deciders,
    response: conversation.modelResponseSchema,
  }),
  getRun: route({
    method: 'GET',
    path: '/my/runs/{run_id}',
    summary: 'One run: its state and what it used.',
    scopes: deciders,
    response: conversation.runResponseSchema,
  }),
  stopRun: route({
    method: 'POST',
    path: '/my/runs/{run_id}/stop',
    summary: 'Stop a run at once.',
    scopes: deciders,
    repeatable: true,
    response: conversation.runResponseSchema,
  }),
} as const;

export type RouteName = keyof typeof routes;

/** The body that a route takes, before the server fills in defaults. */
export type RequestBody<Name extends RouteName> = (typeof routes)[Name] extends {
  readonly body: infer Body extends z.ZodType;
}
  ? z.input<Body>
  : never;

/** The same body as the server's code gets it: parsed, with defaults. */
export type ParsedBody<Name extends RouteName> = (typeof routes)[Name] extends {
  readonly body: infer Body extends z.ZodType;
}
  ? z.output<Body>
  : never;

/** The body that a route answers with. */
export type ResponseBody<Name extends RouteName> = (typeof routes)[Name] extends {
  readonly response: infer Body extends z.ZodType;
}
  ? z.output<Body>
  : never;
