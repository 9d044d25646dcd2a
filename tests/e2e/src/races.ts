import {
  type ApprovalRow,
  auditGenesis,
  auditHash,
  type ExecutionRow,
  Refusal,
  runnerKey,
  type Store,
} from '@countersign/engine';
import { isFinal, shownDigest } from '@countersign/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf } from '../../lab/src/remote-runner.ts';
import { pause } from '../../lab/src/waiting.ts';
import { person, type RaceNode, requestTo, runner, runnerCaller } from './race-node.ts';

/** How often each race is run: a third with one side first, a third with the other, a third with both at once. */
const repeats = 60;

/** The races of an approval, each forced and repeated. `open` returns the two servers that the two sides talk to. */
export function describeRaces(name: string, open: () => Promise<readonly [RaceNode, RaceNode]>): void {
  describe(`races on ${name}`, () => {
    let one: RaceNode;
    let two: RaceNode;
    let written = 0;
    beforeAll(async () => {
      [one, two] = await open();
    });
    afterAll(async () => {
      await one?.close();
      if (two !== one) await two?.close();
    });

    /** A write that needs approval, with its preview. */
    async function requestWrite(
      path = `notes-${++written}.md`,
    ): Promise<{ toolId: string; approvalId: string }> {
      const params = { path, content: 'hi' };
      const { execution } = await one.engine.executor.submit(requestTo('write_file', params));
      const approvalId = String(execution.approval_id);
      const payload = await one.store.read((tx) => tx.get('payloads', execution.id));
      const kept = payload?.params as Record<string, string>; // includes the tool's default parameters
      for (const id of [execution.id, approvalId]) paramsById.set(id, kept);
      await preview(one, approvalId, 'a');
      return { toolId: execution.id, approvalId };
    }
    const preview = (node: RaceNode, approvalId: string, letter: string) =>
      node.engine.approvals.submitPreview(runnerCaller, approvalId, {
        runner_id: runner.id,
        revision: 1,
        preview: { kind: 'summary', summary: 'a change' },
        digest_base: digestOf(letter),
        risk_level: 'MEDIUM',
        reasons: [],
        network: false,
      });
    /** The parameters of each requested call, kept here so that a race need not read them. */
    const paramsById = new Map<string, Record<string, string>>();
    /** The digest of a card whose preview was submitted with this letter. */
    const shown = (id: string, letter: string): string =>
      shownDigest({
        digest_base: digestOf(letter),
        tool_name: 'write_file',
        tool_params: paramsById.get(id) ?? {},
        risk_level: 'MEDIUM',
        preview: { kind: 'summary', summary: 'a change' },
      });
    const approve = (node: RaceNode, approvalId: string, more: object = {}) =>
      node.engine.approvals.approveTool(person, approvalId, { digest: shown(approvalId, 'a'), ...more });
    const claim = (node: RaceNode, toolId: string, letter: string | null = 'a') =>
      node.engine.dispatcher.claim(runnerCaller, toolId, {
        digest: letter === null ? null : shown(toolId, letter),
        runner_id: runner.id,
      });
    const rows = (toolId: string, approvalId: string) =>
      one.store.read(function* (tx) {
        const execution = (yield* tx.get('tool_executions', toolId)) as ExecutionRow;
        return { execution, approval: (yield* tx.get('approvals', approvalId)) as ApprovalRow };
      });

    /** Ends what the race left open, so that only a few requests are pending at once. */
    async function tidyUp(toolId: string): Promise<void> {
      const row = await one.store.read((tx) => tx.get('tool_executions', toolId));
      if (!row || isFinal(row.status)) return;
      if (row.status === 'executing') {
        const enough = { status: 'failed', error: 'enough', runner_id: runner.id } as const;
        await one.engine.dispatcher.submitResult(runnerCaller, toolId, enough);
      } else await one.engine.dispatcher.cancel(person, toolId, 'enough').catch(expectRefusal);
    }

    it('[AP-3] approve against expire', async () => {
      const outcomes = await race(async (turn) => {
        const { toolId, approvalId } = await requestWrite();
        // A third surely in time, a third surely too late, and a third exactly at the deadline.
        const deadline_at = one.store.now() + ([4, 5_000, -1][turn % 3] as number);
        await one.store.write(function* (tx) {
          yield* tx.update('approvals', approvalId, { deadline_at });
        });
        two.engine.decisions.watch({ id: approvalId, deadline_at });
        const decided = one.engine.approvals.waitForDecision(approvalId);
        if (turn % 3 === 0) await pause((turn / 3) % 8);
        const answer = await codeOf(approve(one, approvalId));
        const { status } = await decided;
        const { execution, approval } = await rows(toolId, approvalId);
        expect(approval.status).toBe(status);
        expect([answer, approval.status, execution.status]).toSatisfy(
          oneOf([
            ['ok', 'approved', 'approved'],
            ['ALREADY_DECIDED', 'timeout', 'timeout'],
          ]),
        );
        await tidyUp(toolId);
        return answer;
      });
      expect(Object.keys(outcomes).sort()).toEqual(['ALREADY_DECIDED', 'ok']);
    });

    it('[EX-8] approve against cancel', async () => {
      await race(async (turn) => {
        const { toolId, approvalId } = await requestWrite();
        const [approved, cancelled] = await inOrder(
          turn,
          () => codeOf(approve(one, approvalId)),
          () => codeOf(two.engine.dispatcher.cancel(person, toolId, 'no longer needed')),
        );
        const { execution, approval } = await rows(toolId, approvalId);
        expect([approved, cancelled, approval.status, execution.status]).toSatisfy(
          oneOf([
            ['ok', 'ok', 'approved', 'cancelled'],
            ['ALREADY_DECIDED', 'ok', 'cancelled', 'cancelled'],
          ]),
        );
        expect(await codeOf(claim(one, toolId))).toBe('CLAIM_REFUSED');
        return approved;
      });
    });

    it('[AP-2] approve against a second device', async () => {
      await race(async (turn) => {
        const { toolId, approvalId } = await requestWrite();
        const [phone, desk] = await inOrder(
          turn,
          () => codeOf(approve(one, approvalId, { device: 'phone' })),
          () => codeOf(two.engine.approvals.rejectTool(person, approvalId, { device: 'desk', reason: 'no' })),
        );
        const { execution, approval } = await rows(toolId, approvalId);
        expect([phone, desk, approval.status, approval.decided_device, execution.status]).toSatisfy(
          oneOf([
            ['ok', 'ALREADY_DECIDED', 'approved', 'phone', 'approved'],
            ['ALREADY_DECIDED', 'ok', 'rejected', 'desk', 'rejected'],
          ]),
        );
        await tidyUp(toolId);
        return phone;
      });
    });

    it('[AP-6] approve against an edit', async () => {
      await race(async (turn) => {
        const { toolId, approvalId } = await requestWrite();
        const edit = { tool_params: { path: `edited-${written}.md`, content: 'edited' } };
        const [plain, edited] = await inOrder(
          turn,
          () => codeOf(approve(one, approvalId)),
          () => codeOf(approve(two, approvalId, edit)),
        );
        expect([plain, edited]).toSatisfy(
          oneOf([
            ['ok', 'ALREADY_DECIDED'],
            ['ALREADY_DECIDED', 'ok'],
          ]),
        );
        const params = (await one.store.read((tx) => tx.get('payloads', toolId)))?.params;
        expect(params?.content).toBe(edited === 'ok' ? 'edited' : 'hi');
        await tidyUp(toolId);
        return plain;
      });
    });

    it('[AP-6] approve against an edit that raises the risk', async () => {
      await race(async (turn) => {
        const { toolId, approvalId } = await requestWrite();
        const edit = { tool_params: { path: `edited-${written}.sh`, content: 'edited' } };
        const [plain, edited] = await inOrder(
          turn,
          () => codeOf(approve(one, approvalId)),
          () => codeOf(approve(two, approvalId, edit)),
        );
        const { execution, approval } = await rows(toolId, approvalId);
        expect([plain, edited, approval.status, approval.revision, execution.status]).toSatisfy(
          oneOf([
            ['ok', 'ALREADY_DECIDED', 'approved', 1, 'approved'],
            ['PREVIEW_CHANGED', 'RISK_ROSE', 'pending', 2, 'awaiting_approval'],
          ]),
        );
        await tidyUp(toolId);
        return plain;
      });
    });

    it('[AP-8] approve against a changed preview', async () => {
      await race(async (turn) => {
        const { toolId, approvalId } = await requestWrite();
        const [approved, previewed] = await inOrder(
          turn,
          () => codeOf(approve(one, approvalId)),
          () => codeOf(preview(two, approvalId, 'b')),
        );
        const { execution, approval } = await rows(toolId, approvalId);
        expect([approved, previewed, approval.status, approval.digest, execution.digest]).toSatisfy(
          oneOf([
            ['ok', 'ALREADY_DECIDED', 'approved', shown(approvalId, 'a'), shown(approvalId, 'a')],
            ['PREVIEW_CHANGED', 'ok', 'pending', shown(approvalId, 'b'), null],
          ]),
        );
        await tidyUp(toolId);
        return approved;
      });
    });

    const setConnected = (node: RaceNode, connected: boolean) =>
      node.store.write((tx) => tx.update('runners', runnerKey(runner.userId, runner.id), { connected }));
    async function loseRunner(node: RaceNode): Promise<void> {
      await setConnected(node, false);
      await node.engine.assignments.lost(runner);
    }

    it('[EX-7] result against lease end', async () => {
      await race(async (turn) => {
        const { toolId, approvalId } = await requestWrite();
        await approve(one, approvalId);
        await claim(one, toolId);
        const result = { status: 'completed' as const, result: { success: true }, runner_id: runner.id };
        const [reported] = await inOrder(
          turn,
          () => codeOf(one.engine.dispatcher.submitResult(runnerCaller, toolId, result)),
          () => codeOf(loseRunner(two)),
        );
        await setConnected(one, true);
        const { execution } = await rows(toolId, approvalId);
        const kept = await one.store.read((tx) => tx.get('results', toolId));
        expect(reported).toBe('ok');
        expect([
          execution.status,
          execution.error_type,
          kept?.result ?? null,
          kept?.late_result ?? null,
        ]).toSatisfy(
          oneOf([
            ['completed', null, { success: true }, null],
            ['failed', 'RUNNER_LOST', null, { status: 'completed', result: { success: true }, error: null }],
          ]),
        );
        return execution.status;
      });
    });

    it('[AP-4] claim against revocation', async () => {
      await race(async (turn) => {
        const { toolId: first, approvalId } = await requestWrite();
        const { grant_id: grantId } = await approve(one, approvalId, { scope: 'session' });
        await tidyUp(first);
        const params = { path: `granted-${++written}.md`, content: 'hi' };
        const { execution: call } = await one.engine.executor.submit(requestTo('write_file', params));
        expect(call).toMatchObject({ status: 'approved', grant_id: grantId });
        const [claimed] = await inOrder(
          turn,
          () => codeOf(claim(one, call.id, null)),
          () => codeOf(revoke(two.store, String(grantId))),
        );
        const row = await one.store.read((tx) => tx.get('tool_executions', call.id));
        const uses = (await one.store.read((tx) => tx.get('grants', String(grantId))))?.uses;
        expect([claimed, row?.status, uses]).toSatisfy(
          oneOf([
            ['ok', 'executing', 1],
            ['GRANT_REVOKED', 'awaiting_approval', 0],
          ]),
        );
        await tidyUp(call.id);
        return claimed;
      });
    });

    it('[AP-2] 20 approvals of one request at once: one decision, one execution', async () => {
      const { toolId, approvalId } = await requestWrite();
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          codeOf(approve(i % 2 ? one : two, approvalId, { device: `${i}` })),
        ),
      );
      expect(answers.filter((answer) => answer === 'ok')).toHaveLength(1);
      expect(answers.filter((answer) => answer === 'ALREADY_DECIDED')).toHaveLength(19);
      await tidyUp(toolId);
    });

    it('leave one decision per request, one signal per attempt, no event gap and an unbroken audit chain', async () => {
      expect(await findRaceErrors(one.store)).toEqual([]);
    });
  });
}

/** Runs a race repeatedly. Returns how often each outcome occurred. */
async function race(run: (turn: number) => Promise<string>): Promise<Record<string, number>> {
  const outcomes: Record<string, number> = {};
  for (let turn = 0; turn < repeats; turn++) {
    const outcome = await run(turn);
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }
  return outcomes;
}

/** One side first, the other first, or both at once. The later one starts before it could see what the first did. */
async function inOrder<A, B>(turn: number, one: () => Promise<A>, other: () => Promise<B>): Promise<[A, B]> {
  if (turn % 3 === 0) return Promise.all([one(), other()]);
  const first = turn % 3 === 1;
  const started = first ? one() : other();
  for (let i = 0; i < turn % 7; i++) await new Promise((resolve) => setImmediate(resolve));
  return first ? [(await started) as A, await other()] : Promise.all([one(), started as Promise<B>]);
}

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'ok',
    (error: unknown) => {
      if (error instanceof Refusal) return error.code;
      throw error;
    },
  );

const expectRefusal = (error: unknown): void => {
  if (!(error instanceof Refusal)) throw error;
};

const oneOf = (allowed: readonly unknown[]) => (seen: unknown) =>
  allowed.some((one) => JSON.stringify(one) === JSON.stringify(seen));

async function revoke(store: Store, grantId: string): Promise<void> {
  const now = store.now();
  await store.write(function* (tx) {
    yield* tx.get('grants', grantId);
    yield* tx.update('grants', grantId, { revoked_at: now });
  });
}

/** Finds errors that a lost race would leave in the events and the audit log. */
async function findRaceErrors(store: Store): Promise<string[]> {
  const problems: string[] = [];
  const events = await store.read((tx) => tx.events('ada', 0, 1_000_000));
  const seen = new Map<string, number>();
  const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1);
  for (const [i, { id, event }] of events.entries()) {
    if (id !== i + 1) problems.push(`event ${i + 1} is missing`);
    if (event.event === 'tool.execution_signal') count(`signal ${event.data.tool_id}#${event.data.attempt}`);
    if (event.event === 'approval.resolved') count(`decision ${event.data.approval_id}`);
    if (event.event === 'tool.result' && !event.data.late) count(`end ${event.data.tool_id}`);
  }
  let hash = auditGenesis;
  for (const [i, row] of (await store.read((tx) => tx.audit('ada', 0, 1_000_000))).entries()) {
    if (row.seq !== i + 1 || row.previous_hash !== hash || row.hash !== auditHash(row)) {
      problems.push(`audit row ${i + 1} does not follow`);
    }
    hash = row.hash;
  }
  return [
    ...problems,
    ...[...seen].filter(([, times]) => times > 1).map(([what, times]) => `${what}: ${times}`),
  ];
}
