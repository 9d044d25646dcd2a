import {
  availableTools,
  errorOf,
  newId,
  notFound,
  type ProjectRow,
  requestCallUndo,
  type SessionRow,
} from '@countersign/engine';
import type { JsonValue, LateResult, ToolOutcome } from '@countersign/protocol';
import type { AuthenticatedCaller } from '../../auth/authenticator.ts';
import { resolveWithin } from '../../resolve-within.ts';
import { refuseWhenOverloaded } from '../admission.ts';
import { decisionsOf } from '../call-decisions.ts';
import { encodeCursor, readHistoryCursor } from '../cursor.ts';
import { latestWork, onlyProject, ownCall, ownProject, ownSession } from '../own-rows.ts';
import { RefusedCall } from '../refusals.ts';
import type { Handlers } from '../route-types.ts';
import { wordsOf } from '../search-words.ts';
import type { ServerParts } from '../server-parts.ts';
import { executionView, isoTime } from '../views.ts';
import { newSession } from './conversation.ts';

/** The period of the metrics, if the caller does not name one. */
const METRICS_DAYS = 30;

/** Makes, shows, cancels and undoes tool calls (RE-2). */
export function executionHandlers(parts: ServerParts) {
  const { engine, store, config } = parts;

  return {
    async availableTools({ caller, params }) {
      const { workspace } = await ownProject(store, caller, params.project_id);
      const { policies } = engine;
      const facts = await policies.runnerFacts(caller.userId, workspace);
      const tools = availableTools(await policies.policyFile(caller.userId), facts);
      return { success: true, tools: [...tools], total_count: tools.length };
    },

    async executeTool({ caller, body }) {
      refuseWhenOverloaded({ store, config });
      const { project, session, opens } = await placeOf(caller, body.session_id);
      const { execution, approval } = await engine.executor.submit({
        userId: caller.userId,
        project,
        sessionId: session.id,
        opens,
        toolName: body.tool_name,
        toolParams: body.tool_params,
        toolCallId: newId(),
        agent: caller.scope === 'agent' ? caller.tokenName : 'Agent',
        requestedBy: caller.tokenId,
        isOutsideAgent: caller.scope === 'agent',
        context: { message_id: null, run_id: null, step: null, excerpt: '' },
      });
      const error = errorOf(execution);
      if (error) throw new RefusedCall(execution.id, error);
      const taken = { success: true as const, tool_id: execution.id, session_id: session.id };
      // Do not wait for a person's approval: that takes longer.
      const outcome = approval
        ? undefined
        : await resolveWithin(config.executeWaitMs, engine.outcomes.of(execution.id));
      if (!outcome) {
        return {
          ...taken,
          approval_id: approval?.id ?? null,
          status: execution.status,
          result: null,
          error: null,
        };
      }
      const { approval_id, status } = outcome;
      return { ...taken, approval_id, status, result: resultOf(outcome), error: outcome.error };
    },

    async getExecution({ caller, params }) {
      const call = await ownCall(store, caller, params.tool_id);
      const isHidden =
        (caller.scope === 'agent' && call.requested_by !== caller.tokenId) ||
        (caller.scope === 'runner' && call.runner_id === null && call.status !== 'awaiting_approval');
      if (isHidden) throw notFound('tool call');
      const { payload, given, approval, decision } = await store.read(function* (tx) {
        const payload = yield* tx.get('payloads', call.id);
        const given = yield* tx.get('results', call.id);
        const approval = call.approval_id === null ? undefined : yield* tx.get('approvals', call.approval_id);
        const decision = (yield* decisionsOf(tx, [call])).get(call.id);
        return { payload, given, approval, decision };
      });
      const execution = executionView(call, { decision, params: payload?.params });
      const requested = payload?.requested_params ?? null;
      const late = (given?.late_result ?? null) as LateResult | null;
      return {
        success: true,
        execution,
        result: (given?.result ?? null) as JsonValue | null,
        ...(late !== null && { late_result: late }),
        ...(requested !== null && { requested_params: requested as typeof execution.tool_params }),
        preview: approval?.preview ?? null,
        decision:
          !approval || approval.status === 'pending'
            ? null
            : {
                status: approval.status,
                by:
                  approval.decided_token === null
                    ? null
                    : { device: approval.decided_device ?? '', token_id: approval.decided_token },
                reason: approval.reason,
                message: approval.message,
              },
        ...(!payload && { omitted: ['tool_params' as const, 'result' as const] }),
      };
    },

    async cancelExecution({ caller, params, body }) {
      const { id, status } = await engine.dispatcher.cancel(caller, params.tool_id, body.reason);
      return { success: true, tool_id: id, status };
    },

    async undoExecution({ caller, params, body }) {
      const call = await ownCall(store, caller, params.tool_id);
      const undo_id = await requestCallUndo({ store, presence: engine.presence }, caller, call, body.force);
      return { success: true, tool_id: call.id, undo_id };
    },

    async history({ caller, query }) {
      const time = (text: string | undefined) => (text === undefined ? undefined : Date.parse(text));
      const filter = defined({
        projectId: query.project_id,
        sessionId: query.session_id,
        runId: query.run_id,
        toolName: query.tool_name,
        status: query.status,
        riskLevel: query.risk_level,
        since: time(query.since),
        until: time(query.until),
        words: query.q === undefined ? undefined : wordsOf(query.q),
        before: query.cursor === undefined ? undefined : readHistoryCursor(query.cursor),
      });
      const { rows, decisions } = await store.read(function* (tx) {
        const rows = yield* tx.history(caller.userId, { ...filter, limit: query.limit + 1 });
        return { rows, decisions: yield* decisionsOf(tx, rows) };
      });
      const shown = rows.slice(0, query.limit);
      const last = shown.at(-1);
      return {
        success: true,
        executions: shown.map((row) => executionView(row, { decision: decisions.get(row.id) })),
        next_cursor: rows.length > shown.length && last ? encodeCursor([last.created_at, last.id]) : null,
      };
    },

    async metrics({ caller, query }) {
      const { project_id: projectId } = query;
      if (projectId !== undefined) await ownProject(store, caller, projectId);
      const now = store.now();
      const since =
        query.since === undefined ? now - METRICS_DAYS * 24 * 3600 * 1000 : Date.parse(query.since);
      const filter = { since, ...(projectId !== undefined && { projectId }) };
      const bucketMs = bucketSecondsFor(now - since) * 1000;
      const tools = await store.read((tx) => tx.metrics(caller.userId, filter));
      const points = await store.read((tx) => tx.metricsSeries(caller.userId, { ...filter, bucketMs }));
      const series = points.map(({ bucket, ...point }) => ({
        ...point,
        from: isoTime(since + bucket * bucketMs),
      }));
      return {
        success: true,
        tools: [...tools],
        since: isoTime(since),
        bucket_seconds: bucketMs / 1000,
        series,
      };
    },
  } satisfies Partial<Handlers>;

  /** The named session, or a new one in the default project (RE-2). */
  async function placeOf(
    caller: AuthenticatedCaller,
    sessionId: string | undefined,
  ): Promise<{ project: ProjectRow; session: SessionRow; opens?: SessionRow }> {
    if (sessionId !== undefined) {
      const session = await ownSession(store, caller, sessionId);
      const isOwn = caller.scope !== 'agent' || (await store.read((tx) => latestWork(tx, session, caller)));
      if (!isOwn) throw notFound('session');
      return { session, project: await ownProject(store, caller, session.project_id) };
    }
    const project = await onlyProject(store, caller);
    const session = newSession(store, project, { openedBy: caller.tokenId });
    return { project, session, opens: session };
  }
}

const resultOf = (outcome: ToolOutcome): JsonValue | null =>
  ('result' in outcome ? outcome.result : null) as JsonValue | null;

/** Drops undefined values, because the filter's type accepts only missing ones. */
function defined<T extends object>(filter: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined)) as never;
}

/** The length of a chart's time buckets in seconds: a round number, for about 48 buckets. */
function bucketSecondsFor(ms: number): number {
  const wanted = ms / 1000 / 48;
  return [60, 300, 900, 3600, 6 * 3600, 24 * 3600].find((seconds) => seconds >= wanted) ?? 7 * 24 * 3600;
}
