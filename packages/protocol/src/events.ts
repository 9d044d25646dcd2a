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
import { toolErrorSchema } from './errors.ts';
import {
  approvalStatusSchema,
  approvedBySchema,
  executionStatusSchema,
  finalStatusSchema,
} from './execution-status.ts';
import { decidedScopeSchema, grantPredicateSchema } from './grant.ts';
import { jsonValueSchema } from './json-value.ts';
import { agentStateSchema, messageSchema, queuedMessageSchema } from './messages.ts';
import { policyRuleSchema } from './policy-file.ts';
import { commandOutputSchema } from './progress.ts';
import { maxUndoneAtOnce } from './rest/rewind.ts';
import { riskLevelSchema } from './risk.ts';
import { describeIssues } from './schema-issues.ts';
import { sessionSchema } from './session.ts';
import { exitCodeSchema } from './tools/command.ts';
import { fileOperations } from './tools/definition.ts';

const place = { project_id: idSchema, session_id: idSchema };
const call = { tool_id: idSchema, ...place };
const timestamp = timestampSchema;
const path_rules = z
  .array(policyRuleSchema)
  .optional()
  .describe(
    "Rules of the person's own policy that deny or ask about paths of this tool. The runner applies them to the real paths behind links, when it previews and when it executes.",
  );

/** Every event of the stream, with its payload (EV-1). */
export const eventSchemas = {
  'tool.approval_request': approvalSchema
    .omit({ status: true, created_at: true })
    .extend({ path_rules, timestamp }),
  'tool.execution_signal': z.object({
    ...call,
    run_id: idSchema
      .nullable()
      .optional()
      .describe('The run that made the call: the runner tells what its calls changed together.'),
    tool_call_id: z.string(),
    tool_name: z.string(),
    tool_params: toolParamsSchema,
    risk_level: riskLevelSchema,
    network: z.boolean().describe('Whether the call gets network.'),
    attempt: z.int().min(1),
    runner_id: idSchema
      .nullable()
      .describe('The runner that executes. Null: any client, because no runner is connected.'),
    approved_by: approvedBySchema,
    approval_id: idSchema.nullable().describe('A MEDIUM or HIGH call needs this or grant_id to run (RN-2).'),
    grant_id: idSchema.nullable(),
    grant: grantPredicateSchema.nullable().describe('What the grant covers; the runner checks it too.'),
    further_grants: z
      .array(grantPredicateSchema)
      .optional()
      .describe('Further grants that the call needs: together they cover each command of a line (RK-5).'),
    rule: policyRuleSchema
      .nullable()
      .describe("The rule of the person's own policy that approved it; the runner checks it too."),
    further_rules: z
      .array(policyRuleSchema)
      .optional()
      .describe('Further rules that the call needs: together they cover each command of a line (RK-5).'),
    path_rules,
    digest: digestSchema.nullable().describe('The digest that was approved; the runner recomputes it.'),
    omitted: omittedSchema.optional(),
    timestamp,
  }),
  'tool.result_ack': z.object({
    tool_id: idSchema,
    status: z.enum(['received', 'rejected']),
    attempt: z
      .int()
      .min(1)
      .optional()
      .describe(
        'The attempt whose result is acknowledged. If left out, the runner sends its unacknowledged results again.',
      ),
    error: z.string().optional().describe('Why it was rejected.'),
    audit_head: z
      .string()
      .optional()
      .describe("Head of the person's audit chain; runners keep it as witnesses (DA-4)."),
    timestamp,
  }),
  'tool.call': z.object({
    ...call,
    tool_call_id: z.string(),
    tool_name: z.string(),
    tool_params: toolParamsSchema,
    risk_level: riskLevelSchema.nullable().describe('Null when the call was refused before it was assessed.'),
    requires_approval: z.boolean(),
    approved_by: approvedBySchema
      .optional()
      .describe('Set when a grant or rule allows the call, so that nobody is asked.'),
    scope: decidedScopeSchema.nullable().optional().describe('The scope of that grant; null for a rule.'),
    status: executionStatusSchema,
    context: callContextSchema,
    omitted: omittedSchema.optional(),
    timestamp,
  }),
  'tool.progress': z.object({
    ...call,
    progress: z.number().min(0).max(100).nullable().describe('Percent; null if unknown.'),
    message: z.string().nullable(),
    output: commandOutputSchema.nullable(),
    timestamp,
  }),
  'tool.result': z.object({
    ...call,
    tool_call_id: z.string(),
    tool_name: z.string(),
    status: finalStatusSchema,
    result: jsonValueSchema.nullable(),
    error: toolErrorSchema.nullable(),
    execution_time_ms: z.int().nonnegative().nullable(),
    exit_code: exitCodeSchema.optional(),
    not_started: z.boolean().optional().describe('True when it was cancelled before it began.'),
    late: z
      .boolean()
      .describe('True if it came after the call had ended; the status does not change (EX-7).'),
    undo_id: idSchema.optional().describe('Set if this is the outcome of an undo, not of the call.'),
    omitted: omittedSchema.optional(),
    timestamp,
  }),
  'tool.cancel': z.object({ ...call, reason: z.string(), timestamp }),
  'tool.undo': z.object({
    ...call,
    undo_id: idSchema.describe('Send this id back with the result.'),
    tool_ids: z
      .array(idSchema)
      .min(1)
      .max(maxUndoneAtOnce)
      .optional()
      .describe(
        'All calls to undo as one, tool_id among them: all or nothing, the newest change first. Calls that are undone already are skipped.',
      ),
    runner_id: idSchema.nullable(),
    force: z.boolean().describe('Undo even if the file was changed after the call.'),
    timestamp,
  }),
  'tool.try': z.object({
    ...call,
    approval_id: idSchema,
    revision: z.int().min(1),
    runner_id: idSchema.describe('The runner that shall try the call.'),
    timestamp,
  }),
  'file.changed': z.object({ ...call, path: z.string(), operation: z.enum(fileOperations), timestamp }),
  'agent.state': z.object({ ...place, run_id: idSchema.nullable(), state: agentStateSchema, timestamp }),
  'message.created': messageSchema.omit({ rewound: true }).extend({ project_id: idSchema, timestamp }),
  'message.delta': z.object({
    ...place,
    message_id: idSchema,
    offset: z.int().nonnegative().describe('Where this piece begins in the message, in UTF-16 code units.'),
    text: z.string(),
  }),
  'queue.changed': z.object({
    ...place,
    queued: z
      .array(queuedMessageSchema)
      .describe('All that waits now; what the agent took comes as message.created.'),
    timestamp,
  }),
  'session.changed': z.object({
    session: sessionSchema,
    deleted: z.boolean().optional().describe('True when the conversation is gone.'),
    timestamp,
  }),
  'session.rewound': z.object({
    ...place,
    message_id: idSchema.describe('This message and all after it up to now are rewound.'),
    messages: z.int().nonnegative().describe('How many messages that were.'),
    timestamp,
  }),
  'approval.updated': approvalSchema
    .pick({
      approval_id: true,
      tool_id: true,
      project_id: true,
      session_id: true,
      revision: true,
      description: true,
      tool_params: true,
      risk_level: true,
      reasons: true,
      network: true,
      timeout_seconds: true,
      remaining_ms: true,
      expires_at: true,
      runner_id: true,
      trying: true,
      preview: true,
      digest: true,
      digest_base: true,
      offered_scopes: true,
      omitted: true,
    })
    .extend({ path_rules, timestamp }),
  'approval.resolved': z.object({
    approval_id: idSchema,
    ...call,
    status: approvalStatusSchema.exclude(['pending']),
    approved_by: approvedBySchema.nullable().describe('Null unless it was approved.'),
    grant_id: idSchema.nullable().describe('The grant that approved the call, or that this decision made.'),
    device: z.string().nullable().describe('Where it was decided.'),
    scope: decidedScopeSchema
      .nullable()
      .optional()
      .describe('What the person chose; null unless it was approved.'),
    reason: z.string().nullable(),
    message: z.string().nullable(),
    error: toolErrorSchema
      .optional()
      .describe(
        'Why the call of a withdrawn request failed: its preview could not be made, or a rule denies it now.',
      ),
    timestamp,
  }),
  'runner.changed': z.object({
    project_id: idSchema,
    runner_id: idSchema,
    workspace: z.string(),
    state: z.enum(['connected', 'disconnected']),
    capabilities: z.array(z.string()),
    timestamp,
  }),
  'stream.reset': z.object({ reason: z.string(), timestamp }),
} as const;

export type EventName = keyof typeof eventSchemas;
export const eventNames = Object.keys(eventSchemas) as readonly EventName[];
export type EventPayload<N extends EventName> = z.infer<(typeof eventSchemas)[N]>;
/** An event: its name and the payload of that name. */
export type CountersignEvent = {
  [N in EventName]: { readonly event: N; readonly data: EventPayload<N> };
}[EventName];

type ParsedEvent =
  | { readonly ok: true; readonly event: CountersignEvent }
  | { readonly ok: false; readonly problem: string };

/** Parses one event from the stream. Never throws: the caller logs the problem of an unknown name or a wrong payload. */
export function parseEvent(name: string, data: unknown): ParsedEvent {
  if (!Object.hasOwn(eventSchemas, name)) {
    return { ok: false, problem: `unknown event "${name.slice(0, 100)}"` };
  }
  const parsed = eventSchemas[name as EventName].safeParse(data);
  if (!parsed.success) return { ok: false, problem: `${name}: ${describeIssues(parsed.error)}` };
  return { ok: true, event: { event: name, data: parsed.data } as CountersignEvent };
}

/** The maximum size of an event in bytes; clients fetch larger fields by id (EV-2). */
export const maxEventBytes = 64 * 1024;
