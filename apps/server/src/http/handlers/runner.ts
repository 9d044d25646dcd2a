import {
  auditHeadText,
  notFound,
  runnerKey,
  runnerTokenBound,
  type Store,
  settleUndo,
  storeRunnerReport,
} from '@countersign/engine';
import { sentLimits } from '@countersign/protocol';
import { inProject, ownCall, ownProject, reportingRunner } from '../own-rows.ts';
import type { Handlers } from '../route-types.ts';
import type { ServerParts } from '../server-parts.ts';

/** What runners report: claim, progress, result, heartbeat (EX-4 to EX-7). */
export function runnerHandlers(parts: ServerParts) {
  const { store } = parts;
  const { dispatcher, hostRequests, policies } = parts.engine;
  return {
    async submitResult({ caller, params, body: sent }) {
      const { tool_id } = params;
      const body = { ...sent, ...(await reportingRunner(parts, caller, params, sent)) };
      if (body.undo_id !== undefined) {
        const call = await ownCall(store, caller, tool_id, params.project_id);
        const message = await settleUndo(store, call, body.undo_id, body);
        return { success: true, tool_id, status: call.status, message };
      }
      const { execution, message } = await dispatcher.submitResult(inProject(caller, params), tool_id, body);
      const audit_head = await auditHead(store, caller.userId);
      return { success: true, tool_id, status: execution.status, message, audit_head };
    },

    async submitProgress({ caller, params, body }) {
      const speaker = await reportingRunner(parts, caller, params, body);
      await dispatcher.progress(inProject(caller, params), params.tool_id, { ...body, ...speaker });
      return { success: true };
    },

    async askForHost({ caller, params, body }) {
      const asked = { ...body, ...(await reportingRunner(parts, caller, params, body)) };
      const { id, status } = await hostRequests.ask(inProject(caller, params), params.tool_id, asked);
      return { success: true, tool_id: id, status };
    },

    async startExecution({ caller, params, body }) {
      const claim = { ...body, ...(await reportingRunner(parts, caller, params, body)) };
      const { id, attempt } = await dispatcher.claim(inProject(caller, params), params.tool_id, claim);
      return { success: true, tool_id: id, status: 'executing', attempt };
    },

    async heartbeat({ caller, params, body }) {
      await ownProject(store, caller, params.project_id);
      const key = runnerKey(caller.userId, params.runner_id);
      const runner = await store.read((tx) => tx.get('runners', key));
      if (!runner) throw notFound('runner');
      const { instance } = await reportingRunner(parts, caller, params, {
        ...params,
        instance: body.instance,
      });
      if (instance !== undefined && instance !== runner.instance) throw runnerTokenBound(params.runner_id);
      const named = new Set([...body.queued, ...body.executing, ...body.unacknowledged]);
      const calls = await dispatcher.heartbeat(caller, params.runner_id, [...named]);
      const now = store.now();
      const report = {
        ...(body.custom_tools && { tools: body.custom_tools }),
        ...(body.limits && { limits: body.limits }),
        ...(body.policy && { policy: body.policy }),
      };
      const hasChanged = await store.write(function* (tx) {
        yield* tx.update('runners', key, { last_seen_at: now });
        return yield* storeRunnerReport(tx, caller.userId, params.runner_id, report, now);
      });
      if (hasChanged) policies.forget(caller.userId);
      const limits = sentLimits(policies.limits);
      return { success: true, calls, limits, audit_head: await auditHead(store, caller.userId) };
    },
  } satisfies Partial<Handlers>;
}

/** The head of the person's audit chain, which runners keep as witnesses (DA-4). */
async function auditHead(store: Store, userId: string): Promise<string> {
  const { seq, hash } = await store.read((tx) => tx.auditHead(userId));
  return auditHeadText(seq, hash);
}
