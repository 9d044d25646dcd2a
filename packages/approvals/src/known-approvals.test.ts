import { ApiError, type ApprovalDecision, type DecisionOutcome } from '@countersign/client';
import {
  type Approval,
  type CountersignEvent,
  type ErrorCode,
  type Preview,
  runnerCapabilities,
  shownDigest,
} from '@countersign/protocol';
import { ManualClock, settle } from '@countersign/testing';
import { describe, expect, it } from 'vitest';
import type { ApprovalsServer } from './approvals-server.ts';
import { KnownApprovals, type KnownApprovalsDeps } from './known-approvals.ts';

const digest_base = `sha256:${'a'.repeat(64)}`;
const preview = { kind: 'summary', summary: 'Runs the tests.' } as const;
const card = {
  approval_id: 'a1',
  tool_id: 't1',
  project_id: 'p1',
  tool_name: 'execute_command',
  tool_params: { command: 'npm', args: ['test'] },
  risk_level: 'MEDIUM',
  revision: 1,
  remaining_ms: 300_000,
  preview,
  digest_base,
} as const;

const approval = (change: Partial<Approval> = {}): Approval => {
  const whole = { ...card, created_at: '2026-11-15T12:00:00Z', status: 'pending', ...change } as Approval;
  const { preview: shown } = whole;
  return { ...whole, digest: shown && shownDigest({ ...whole, preview: shown, digest_base }) };
};
const requested = (change: Partial<Approval> = {}): CountersignEvent => {
  const { status: _, created_at: timestamp, ...data } = approval(change);
  return { event: 'tool.approval_request', data: { ...data, timestamp } };
};
const updated = (change: Partial<Approval>): CountersignEvent =>
  ({
    event: 'approval.updated',
    data: { ...approval(change), status: undefined, timestamp: 'later' },
  }) as never;
const resolved = (status: string, change: object = {}): CountersignEvent =>
  ({ event: 'approval.resolved', data: { approval_id: 'a1', status, device: 'phone', ...change } }) as never;

/** A test names only the parts of the server that it is about. */
type SetUp = Partial<Omit<KnownApprovalsDeps, 'server'> & ApprovalsServer>;

function setUp({ isBesideRunner, isShown, ...server }: SetUp = {}) {
  const clock = new ManualClock();
  const sent: ApprovalDecision[] = [];
  const problems: unknown[] = [];
  const known = new KnownApprovals({
    clock,
    server: {
      fetch: async () => approval(),
      list: async () => [],
      runners: async () => [],
      decide: async (decision) => {
        sent.push(decision);
        return { outcome: 'recorded', response: { success: true, approval_id: 'a1', status: 'approved' } };
      },
      tryFirst: async () => {},
      ...server,
    },
    onProblem: (error) => problems.push(error),
    ...(isBesideRunner && { isBesideRunner }),
    ...(isShown && { isShown }),
  });
  const entry = () => known.entries.get().get('a1');
  return { known, clock, sent, problems, entry };
}

describe('known approvals', () => {
  it('[AP-1] comes by events, oldest first, and goes when it is settled', () => {
    const { known, entry } = setUp();
    known.receive(requested({ approval_id: 'a2', created_at: '2026-11-15T12:00:01Z' }));
    known.receive(requested());
    expect(known.pending().map(({ approval: { approval_id } }) => approval_id)).toEqual(['a1', 'a2']);
    known.receive(updated({ revision: 2 }));
    expect([entry()?.approval.revision, known.pending().length]).toEqual([2, 2]);
    known.receive(resolved('rejected', { reason: 'no' }));
    expect(known.pending().map(({ approval: { approval_id } }) => approval_id)).toEqual(['a2']);
    expect(entry()?.resolution).toMatchObject({ status: 'rejected', device: 'phone', reason: 'no' });
    known.forgetSettled();
    expect([...known.entries.get().keys()]).toEqual(['a2']);
  });

  it('[AP-3] counts the time that is left, and settles nothing when it is over', async () => {
    const { known, clock } = setUp();
    known.receive(requested());
    await clock.advance(100_000);
    expect(known.pending().map((each) => known.remainingMs(each))).toEqual([200_000]);
    await clock.advance(1_000_000);
    expect(known.pending().map((each) => known.remainingMs(each))).toEqual([0]);
  });

  it('[AP-2] one that was settled while the list was on its way does not come back, nor does its card', () => {
    const { known } = setUp();
    known.receive(resolved('approved'));
    known.replace([approval()]);
    known.receive(updated({ revision: 2 }));
    known.show({ ...approval({ revision: 3 }), timestamp: 'later' });
    expect(known.pending()).toEqual([]);
  });

  it('[RN-2] beside a runner, which draws the cards, asks the server for none', async () => {
    const asked: string[] = [];
    const fetch = async (id: string) => {
      asked.push(id);
      return approval();
    };
    const { known } = setUp({ isBesideRunner: () => true, fetch });
    await known.refresh('a1');
    expect(asked).toEqual([]);
  });

  it('[AP-7] an older failure to read the runners does not undo a newer answer', async () => {
    const answers: { resolve: (runners: never[]) => void; reject: (error: Error) => void }[] = [];
    const runners = () =>
      new Promise<never[]>((resolve, reject) => {
        answers.push({ resolve, reject });
      });
    const { known, entry } = setUp({ runners });
    known.receive(requested({ preview: null, digest: null }));
    const changed = { event: 'runner.changed', data: { project_id: 'p1' } } as never;
    known.receive(changed);
    known.receive(changed);
    answers
      .at(-1)
      ?.resolve([{ project_id: 'p1', connected: true, capabilities: [runnerCapabilities.preview] } as never]);
    await settle();
    expect(entry()?.isPreviewComing).toBe(true);
    answers[0]?.reject(new Error('too late'));
    await settle();
    expect(entry()?.isPreviewComing).toBe(true);
  });

  it('an update that REST has overtaken changes nothing', () => {
    const { known, entry } = setUp();
    known.replace([approval({ revision: 3 })]);
    known.receive(updated({ revision: 2 }));
    expect(entry()?.approval.revision).toBe(3);
  });

  it('keeps the last 200 that were settled, and every one that waits', () => {
    const { known } = setUp();
    known.receive(requested());
    for (let n = 0; n < 250; n += 1) {
      known.receive(requested({ approval_id: `b${n}`, tool_id: `b${n}` }));
      known.receive(resolved('approved', { approval_id: `b${n}` }));
    }
    expect([known.entries.get().size, known.pending().length]).toEqual([201, 1]);
    known.replace([approval({ approval_id: 'b0' })]); // a response that took a long time
    expect(known.pending().length).toBe(1);
  });

  it('[AP-8] is never an older revision, nor a card whose preview is not what its digest names', () => {
    const { known, entry } = setUp();
    known.receive(requested({ revision: 2 }));
    known.receive(requested({ revision: 1 }));
    expect(entry()?.approval.revision).toBe(2);
    known.receive(requested({ revision: 2, preview: null }));
    expect(entry()?.approval.preview).toEqual(preview);
    const { event, data } = requested({ revision: 3 });
    known.receive({ event, data: { ...data, preview: { kind: 'summary', summary: 'Nothing.' } } } as never);
    expect(entry()?.approval).toMatchObject({ revision: 3, unfit: true, preview: { kind: 'unavailable' } });
  });

  it('[RN-2] takes a card that the runner beside it draws anew, also without a preview', () => {
    const { known, entry } = setUp();
    known.receive(requested());
    const { data } = requested({ preview: null });
    known.show(data as never);
    expect(entry()?.approval.preview).toBeNull();
    known.show({ ...(data as object), revision: 0 } as never);
    expect(entry()?.approval.revision).toBe(1);
  });

  it('[EV-2] does not wait before it is whole, and is fetched', async () => {
    const { known } = setUp();
    known.receive(requested({ preview: null, omitted: ['preview'] }));
    expect([known.pending(), known.find('a1')]).toEqual([[], undefined]);
    await settle();
    expect(known.find('a1')?.approval.preview).toEqual(preview);
  });

  it('[AP-2] does not come back when it was settled while it was fetched', async () => {
    const { known } = setUp();
    known.receive(updated({ revision: 2 })); // an approval that is not known yet
    known.receive(resolved('timeout'));
    await settle();
    expect(known.pending()).toEqual([]);
  });

  it('[AP-3] stays away when it was withdrawn while it was fetched', async () => {
    const { known } = setUp();
    known.receive(requested({ preview: null, omitted: ['preview'] }));
    known.withdraw('a1');
    await settle();
    expect(known.entries.get().size).toBe(0);
  });

  it('[AP-2] is settled when the server does not know it any more; other errors are reported', async () => {
    const gone = setUp({ fetch: () => Promise.reject(new ApiError(404, 'NOT_FOUND', 'gone')) });
    gone.known.receive(requested());
    await gone.known.refresh('a1');
    expect([gone.entry()?.resolution?.status, gone.problems]).toEqual(['cancelled', []]);
    const away = setUp({ fetch: () => Promise.reject(new Error('away')) });
    away.known.receive(requested());
    await away.known.refresh('a1');
    expect([away.known.pending().length, away.problems]).toEqual([1, [new Error('away')]]);
  });

  it('[AP-10] is replaced by the whole list after a reset, and what is withdrawn may come back', () => {
    const { known } = setUp();
    known.receive(requested());
    expect(known.replace([approval({ approval_id: 'a2' })])).toEqual(['a1']);
    known.withdraw('a1');
    expect(known.pending().map(({ approval: { approval_id } }) => approval_id)).toEqual(['a2']);
    known.receive(requested());
    expect(known.pending()).toHaveLength(2);
  });

  it('[AP-8] tells on the first card that nothing ran when the same call is asked again', () => {
    const { known, entry } = setUp();
    known.receive(requested());
    known.receive(resolved('approved'));
    known.receive(requested({ approval_id: 'a2' }));
    expect(entry()?.notice?.code).toBe('APPROVAL_STALE');
  });
});

const reset: CountersignEvent = { event: 'stream.reset', data: { reason: 'too old', timestamp: 'now' } };

describe('after a reset of the stream', () => {
  it('[AP-10] the list is read, and those that it lacks one by one', async () => {
    const { known, entry } = setUp({
      list: async () => ['a2', 'a3'].map((approval_id) => approval({ approval_id })),
      isShown: ({ approval_id }) => approval_id !== 'a3',
      fetch: async () => approval({ status: 'rejected' }),
    });
    known.receive(requested());
    known.receive(reset);
    await settle();
    expect(known.pending().map(({ approval: { approval_id } }) => approval_id)).toEqual(['a2']);
    expect(entry()?.resolution?.status).toBe('rejected');
  });

  it('tells that the list could not be read, and keeps what is shown', async () => {
    const { known, problems } = setUp({ list: () => Promise.reject(new Error('away')) });
    known.receive(requested());
    known.receive(reset);
    await settle();
    expect([known.pending().length, problems]).toEqual([1, [new Error('away')]]);
  });
});

describe('[RN-2] beside a runner', () => {
  it('only that runner draws cards; the server tells how they ended', async () => {
    const { known, entry } = setUp({
      isBesideRunner: () => true,
      list: async () => [approval({ approval_id: 'a2' })],
      fetch: async () => approval({ revision: 2 }),
    });
    for (const event of [requested(), updated({ revision: 2 }), reset]) known.receive(event);
    await settle();
    expect(known.entries.get().size).toBe(0);
    known.show(requested({ revision: 1 }).data as never);
    for (const event of [requested({ revision: 2 }), updated({ revision: 2 }), reset]) known.receive(event);
    await known.refresh('a1');
    await settle();
    expect(known.pending().map((each) => each.approval.revision)).toEqual([1]);
    known.receive(resolved('rejected'));
    expect(entry()?.resolution?.status).toBe('rejected');
  });

  it.each(['refresh', 'readAgain'] as const)(
    'an older response to %s does not replace a card that the runner has drawn',
    async (read) => {
      let isBesideRunner = false;
      const served = approval({ preview: { kind: 'summary', summary: 'Harmless.' } });
      const { known, entry } = setUp({
        isBesideRunner: () => isBesideRunner,
        fetch: async () => served,
        list: async () => [served],
      });
      known.receive(requested());
      const reading = known[read]('a1');
      isBesideRunner = true;
      known.show(requested().data as never);
      await reading;
      expect(entry()?.approval.preview).toEqual(preview);
    },
  );
});

describe('[AP-7] a preview that is being made', () => {
  const runner = (change: object = {}) =>
    ({ project_id: 'p1', connected: true, capabilities: ['files', 'preview'], ...change }) as never;
  const changed = { event: 'runner.changed', data: { project_id: 'p1' } } as unknown as CountersignEvent;

  it.each([
    [true, [runner()]],
    [false, []],
    [false, [runner({ connected: false })]],
    [false, [runner({ project_id: 'p2' })]],
    [false, [runner({ capabilities: ['files'] })]],
  ])('is %s with runners %j', async (isComing, runners) => {
    const { known, entry } = setUp({ runners: async () => runners });
    known.receive(requested({ preview: null }));
    await settle();
    expect(entry()?.isPreviewComing).toBe(isComing);
    known.receive(updated({ preview }));
    expect(entry()?.isPreviewComing).toBe(false);
  });

  it('is no longer waited for when the runner left and the runners cannot be read', async () => {
    let runners = async () => [runner()];
    const { known, entry } = setUp({ runners: () => runners() });
    known.receive(requested({ preview: null }));
    await settle();
    expect(entry()?.isPreviewComing).toBe(true);
    runners = () => Promise.reject(new Error('the server is away'));
    known.receive(changed);
    await settle();
    expect(entry()?.isPreviewComing).toBe(false);
    runners = async () => [runner()];
    known.receive(requested({ approval_id: 'a2', preview: null }));
    await settle();
    expect(entry()?.isPreviewComing).toBe(true);
  });

  it('is looked for again when a runner comes or goes, and only while a preview is missing', async () => {
    let runners = [runner()];
    let reads = 0;
    const { known, entry } = setUp({
      runners: async () => {
        reads += 1;
        return runners;
      },
    });
    known.receive(requested());
    known.receive(changed);
    await settle();
    expect(reads).toBe(0);
    known.receive(requested({ approval_id: 'a2', preview: null }));
    known.receive(requested({ revision: 2, preview: null }));
    await settle();
    expect([reads, entry()?.isPreviewComing]).toEqual([1, true]);
    runners = [];
    known.receive(changed);
    await settle();
    expect([reads, entry()?.isPreviewComing]).toEqual([2, false]);
  });

  it('is unknown where the runners cannot be read; the next card tries again', async () => {
    let answer = () => Promise.reject(new Error('away'));
    const { known, entry, problems } = setUp({ runners: () => answer() });
    known.receive(requested({ preview: null }));
    await settle();
    expect([entry()?.isPreviewComing, problems]).toEqual([false, []]);
    answer = (async () => [runner()]) as never;
    known.receive(requested({ approval_id: 'a2', preview: null }));
    await settle();
    expect(entry()?.isPreviewComing).toBe(true);
  });
});

describe('[RN-13] a trial', () => {
  const command: Preview = {
    kind: 'command',
    commands: [['make']],
    cwd: '',
    network: false,
    reversible: true,
    scripts: [],
  };
  const card = {
    tool_name: 'execute_command',
    network: false,
    runner_id: 'r1',
    preview: command,
    digest: null,
  };
  const runner = (change: object = {}) =>
    ({ runner_id: 'r1', project_id: 'p1', connected: true, capabilities: ['trials'], ...change }) as never;
  const refused = (code: ErrorCode) => new ApiError(409, code, 'why not');

  it.each([
    [true, runner()],
    [false, runner({ connected: false })],
    [false, runner({ capabilities: ['preview'] })],
    [false, runner({ runner_id: 'r2' })],
  ])('is offered: %s with runner %j', async (isOffered, one) => {
    const { known, entry } = setUp({ runners: async () => [one] });
    known.receive(requested(card));
    await settle();
    expect(entry()?.isTryable).toBe(isOffered);
  });

  it('is asked for once, and the card says so until the outcome is here', async () => {
    const asked: unknown[] = [];
    const { known, entry, clock } = setUp({
      tryFirst: async (params) => asked.push(params),
      fetch: async () => approval(card),
    });
    known.receive(requested(card));
    clock.advance(100);
    await Promise.all([known.tryFirst(approval(card)), known.tryFirst(approval(card))]);
    expect(asked).toEqual([{ project_id: 'p1', approval_id: 'a1' }]);
    expect(entry()).toMatchObject({ approval: { trying: true }, tryingSince: clock.monotonic() });
    const since = clock.monotonic();
    clock.advance(100);
    known.receive(updated({ ...card, trying: true }));
    expect(entry()).toMatchObject({ approval: { trying: true }, tryingSince: since });
    known.receive(updated({ ...card, preview: { ...command, trial: { problem: 'no' } } }));
    expect(entry()?.tryingSince).toBeNull();
    expect(entry()?.approval.trying).toBeUndefined();
  });

  it('that is refused leaves the card with the reason', async () => {
    const { known, entry } = setUp({
      tryFirst: () => Promise.reject(refused('NOT_TRYABLE')),
      fetch: async () => approval(card),
    });
    known.receive(requested(card));
    await known.tryFirst(approval(card));
    expect(entry()).toMatchObject({ tryingSince: null, notice: { code: 'NOT_TRYABLE', message: 'why not' } });
  });

  it('that another device asked for goes on, unless its outcome is here', async () => {
    const current = { ...card, trying: true };
    const { known, entry } = setUp({
      tryFirst: () => Promise.reject(refused('TRIAL_RUNNING')),
      fetch: async () => approval(current),
    });
    known.receive(requested(card));
    await known.tryFirst(approval(card));
    expect(entry()).toMatchObject({ approval: { trying: true }, notice: null });
  });
});

describe('a decision', () => {
  it('[AP-8] names the digest that was displayed, and is sent once', async () => {
    const { known, sent, entry } = setUp();
    known.receive(requested());
    const shown = approval();
    const answers = await Promise.all([known.approve(shown, { scope: 'session' }), known.reject(shown)]);
    expect(sent).toEqual([
      {
        decision: 'approved',
        params: { project_id: 'p1', approval_id: 'a1' },
        body: { digest: shown.digest, scope: 'session' },
      },
    ]);
    expect(answers).toMatchObject([{ kind: 'settled', outcome: 'recorded', status: 'approved' }, undefined]);
    expect(entry()?.resolution).toMatchObject({ status: 'approved', here: true });
    expect(await known.approve(shown)).toBeUndefined();
  });

  it('[AP-2] that came too late says which one stands', async () => {
    const standing = { status: 'rejected', device: 'phone' } as const;
    const { known, entry } = setUp({ decide: async () => ({ outcome: 'overruled', standing }) });
    known.receive(requested());
    expect(await known.approve(approval())).toMatchObject({ kind: 'settled', ...standing });
    expect(entry()).toMatchObject({
      resolution: { status: 'rejected', device: 'phone', here: false },
      notice: { code: 'ALREADY_DECIDED' },
    });
  });

  it('is reported once if the event arrives before the response', async () => {
    const { known, entry } = setUp({
      decide: async (): Promise<DecisionOutcome> => {
        known.receive(resolved('approved', { device: 'here', reason: 'fine' }));
        return { outcome: 'recorded', response: { success: true, approval_id: 'a1', status: 'approved' } };
      },
    });
    known.receive(requested());
    expect(await known.approve(approval())).toBeUndefined();
    expect(entry()?.resolution).toMatchObject({ device: 'here', reason: 'fine', here: true });
  });

  it.each(['PREVIEW_CHANGED', 'PREVIEW_PENDING', 'RISK_ROSE', 'APPROVAL_STALE', 'ALREADY_DECIDED'] as const)(
    '[AP-8] that is answered with %s shows what would be decided now',
    async (code) => {
      const { known, entry } = setUp({
        fetch: async () => approval({ revision: 2 }),
        decide: () => Promise.reject(new ApiError(409, code, 'look again')),
      });
      known.receive(requested());
      const notice = { code, message: 'look again' };
      expect(await known.approve(approval())).toEqual({ kind: 'look-again', notice });
      expect(entry()).toMatchObject({ sending: null, notice, resolution: null, approval: { revision: 2 } });
    },
  );

  it('that could not be sent leaves the card as it was, to be tried again', async () => {
    const { known, entry } = setUp({ decide: () => Promise.reject(new Error('away')) });
    known.receive(requested());
    const notice = { code: 'INTERNAL', message: 'away' };
    expect(await known.approve(approval())).toEqual({ kind: 'failed', notice });
    expect(entry()).toMatchObject({ sending: null, notice, resolution: null });
  });
});
