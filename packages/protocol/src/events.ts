import { z } from 'zod';
import { approvalSchema } from './approval.ts';
import {
  callContextSchema,
  digestSchema,
  idSchema,
  omittedSchema,
  timestampSchema,
  toolParamsSchema,
} from './common.ts';
import { toolErrorSchema } from './error-codes.ts';
import { approvalStatusSchema, executionStatusSchema } from './execution-status.ts';
import { agentStateSchema, messageSchema } from './messages.ts';
import { previewSchema } from './preview.ts';
import { reasonSchema, riskLevelSchema } from './risk.ts';
import { fileOperations } from './tools/definition.ts';

const call = { tool_id: idSchema, project_id: idSchema, session_id: idSchema };
const timestamp = timestampSchema;

/** Every event of the stream and its payload (EV-1). Clients only listen. */
export const eventSchemas = {
  'tool.approval_request': approvalSchema.omit({ status: true, created_at: true }).extend({ timestamp }),
  'tool.execution_signal': z.strictObject({
    ...call,
    tool_call_id: z.string(),
    tool_name: z.string(),
    tool_params: toolParamsSchema,
    risk_level: riskLevelSchema,
    network: z.boolean(),
    attempt: z.int().min(1),
    runner_id: idSchema.nullable(),
    /** What a MEDIUM or HIGH signal runs by (RN-2): the person's approval or a grant, and the digest. */
    approval_id: idSchema.nullable(),
    grant_id: idSchema.nullable(),
    digest: digestSchema.nullable(),
    omitted: omittedSchema.optional(),
    timestamp,
  }),
  'tool.result_ack': z.strictObject({
    tool_id: idSchema,
    status: z.enum(['received', 'rejected']),
    error: z.string().optional().describe('Why it was rejected.'),
    /** Head of the person's audit chain; runners keep it as witnesses (DA-4). */
    audit_head: z.string().optional(),
    timestamp,
  }),
  'tool.call': z.strictObject({
    ...call,
    tool_call_id: z.string(),
    tool_name: z.string(),
    tool_params: toolParamsSchema,
    risk_level: riskLevelSchema.nullable().describe('Null when the call was refused before it was assessed.'),
    requires_approval: z.boolean(),
    status: executionStatusSchema,
    context: callContextSchema,
    omitted: omittedSchema.optional(),
    timestamp,
  }),
  'tool.progress': z.strictObject({
    tool_id: idSchema,
    progress: z.number().min(0).max(100).nullable(),
    message: z.string().nullable(),
    output: z.strictObject({ stream: z.enum(['stdout', 'stderr']), chunk: z.string() }).nullable(),
    timestamp,
  }),
  'tool.result': z.strictObject({
    ...call,
    tool_call_id: z.string(),
    tool_name: z.string(),
    status: executionStatusSchema,
    result: z.json().nullable(),
    error: toolErrorSchema.nullable(),
    execution_time_ms: z.int().nonnegative().nullable(),
    /** True for a result that came after the call had ended: it is stored, the status stays (EX-7). */
    late: z.boolean(),
    omitted: omittedSchema.optional(),
    timestamp,
  }),
  'tool.cancel': z.strictObject({ ...call, reason: z.string(), timestamp }),
  'tool.undo': z.strictObject({ ...call, runner_id: idSchema.nullable(), force: z.boolean(), timestamp }),
  'file.changed': z.strictObject({ ...call, path: z.string(), operation: z.enum(fileOperations), timestamp }),
  'agent.state': z.strictObject({
    project_id: idSchema,
    session_id: idSchema,
    run_id: idSchema.nullable(),
    state: agentStateSchema,
    timestamp,
  }),
  'message.created': messageSchema.extend({ project_id: idSchema, timestamp }),
  'message.delta': z.strictObject({
    project_id: idSchema,
    session_id: idSchema,
    message_id: idSchema,
    /** Characters of the message before this piece. A delta has no event id of its own (EV-4). */
    offset: z.int().nonnegative(),
    text: z.string(),
  }),
  'approval.updated': z.strictObject({
    approval_id: idSchema,
    ...call,
    revision: z.int().min(1),
    tool_params: toolParamsSchema,
    risk_level: riskLevelSchema,
    reasons: z.array(reasonSchema),
    network: z.boolean(),
    preview: previewSchema.nullable(),
    digest: digestSchema.nullable(),
    remaining_ms: z.int().nonnegative(),
    omitted: omittedSchema.optional(),
    timestamp,
  }),
  'approval.resolved': z.strictObject({
    approval_id: idSchema,
    ...call,
    status: approvalStatusSchema.exclude(['pending']),
    device: z.string().nullable(),
    reason: z.string().nullable(),
    message: z.string().nullable(),
    timestamp,
  }),
  'runner.changed': z.strictObject({
    runner_id: idSchema,
    workspace: z.string(),
    state: z.enum(['connected', 'disconnected']),
    capabilities: z.array(z.string()),
    timestamp,
  }),
  'stream.reset': z.strictObject({ reason: z.string(), timestamp }),
} as const;

export type EventName = keyof typeof eventSchemas;
export const eventNames = Object.keys(eventSchemas) as readonly EventName[];
export type EventPayload<N extends EventName> = z.infer<(typeof eventSchemas)[N]>;
/** An event as code passes it around: name and payload belong together. */
export type CountersignEvent = {
  [N in EventName]: { readonly event: N; readonly data: EventPayload<N> };
}[EventName];

/** Events without an id of their own: a client that reconnects gets the state instead. */
export const eventsWithoutId: readonly EventName[] = ['message.delta'];

export type ParsedEvent =
  | { readonly ok: true; readonly event: CountersignEvent }
  | { readonly ok: false; readonly problem: string };

/** Reads one event off the wire. An unknown name or a wrong payload is a problem to log, never a crash. */
export function parseEvent(name: string, data: unknown): ParsedEvent {
  if (!Object.hasOwn(eventSchemas, name)) return { ok: false, problem: `unknown event "${name}"` };
  const parsed = eventSchemas[name as EventName].safeParse(data);
  if (!parsed.success) return { ok: false, problem: `${name}: ${z.prettifyError(parsed.error)}` };
  return { ok: true, event: { event: name, data: parsed.data } as CountersignEvent };
}

/** An event is at most this many bytes on the wire; larger parts are fetched by id (EV-2). */
export const maxEventBytes = 64 * 1024;
