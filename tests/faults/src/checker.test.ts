import { expect, it } from 'vitest';
import { type CallRecord, findViolations, type RunRecords } from './checker.ts';
import type { Entry } from './history.ts';

const mark = 'append-ada-1.md';
const call: CallRecord = {
  id: 't1',
  tool: 'write_file',
  mark,
  status: 'completed',
  errorType: null,
  lateStatus: null,
  runId: null,
  approval: 'approved',
  isStarted: true,
};
const decided = {
  what: 'decided',
  user: 'ada',
  approvalId: 'a1',
  device: 'phone',
  decision: 'approved',
  outcome: 'recorded',
  standing: 'approved',
} as const;
const ended = {
  what: 'event',
  user: 'ada',
  device: 'phone',
  id: 7,
  name: 'tool.result',
  toolId: 't1',
  approvalId: undefined,
  status: 'completed',
  late: false,
} as const;
const resolved = {
  ...ended,
  id: 6,
  name: 'approval.resolved',
  approvalId: 'a1',
  status: 'approved',
} as const;
const onBoth = (...events: readonly Extract<Entry, { what: 'event' }>[]) =>
  events.flatMap((event) => [event, { ...event, device: 'laptop' }]);
const entries: readonly Entry[] = [
  { what: 'called', user: 'ada', mark, toolId: 't1' },
  { what: 'seen', user: 'ada', toolId: 't1', status: 'awaiting_approval' },
  { what: 'approving', user: 'ada', mark, approvalId: 'a1', digest: 'd', base: 'base 1' },
  decided,
  { ...decided, device: 'laptop', outcome: 'already' },
  ...onBoth(resolved, ended),
  { what: 'seen', user: 'ada', toolId: 't1', status: 'completed' },
  { what: 'fault', kind: 'cut', about: '{}' },
];
const fine: RunRecords = {
  entries,
  calls: [call],
  approvals: [{ id: 'a1', status: 'approved' }],
  runs: [],
  tracesOf: () => ({ times: 1, base: 'base 1' }),
};
const withEntries = (...more: Entry[]) => findViolations({ ...fine, entries: [...entries, ...more] });
const withCalls = (times: number, ...changes: Partial<CallRecord>[]) => {
  const calls = changes.map((changed, i) => ({ ...call, id: `t${i + 1}`, ...changed }));
  const ends = calls.map(({ id, status }) => ({ ...ended, toolId: id, status }));
  return findViolations({
    ...fine,
    entries: [...entries.filter(({ what }) => what === 'approving'), ...onBoth(resolved, ...ends)],
    calls,
    tracesOf: () => ({ times, base: 'base 1' }),
  });
};

it('finds nothing in a correct run', () => {
  expect(findViolations(fine)).toEqual([]);
});

it('reports a problem that an actor saw, and a server that ended by itself', () => {
  expect(
    withEntries(
      { what: 'wrong', problem: 'bob was told of ada' },
      { what: 'ended', node: 1, how: '1', log: 'RangeError' },
    ),
  ).toEqual(['bob was told of ada', 'node 1 ended by itself (1): RangeError']);
});

it('[EX-1] finds an accepted call that is missing, and one that has not ended', () => {
  expect(withEntries({ what: 'called', user: 'ada', mark, toolId: 't9' })).toEqual([
    'call t9 (append-ada-1.md) was accepted and is lost',
  ]);
  expect(withCalls(0, { status: 'approved' })).toContain('call t1 (append-ada-1.md) is still approved');
});

it('[EX-2] finds a final state that changed, and an end that was reported twice or never', () => {
  expect(withEntries({ what: 'seen', user: 'ada', toolId: 't1', status: 'failed' })).toEqual([
    'call t1 was seen failed and is completed',
  ]);
  expect(withEntries(ended)).toEqual(["phone's stream: t1 ended 2 times"]);
  expect(withEntries({ ...ended, device: 'laptop', status: 'cancelled' })).toEqual([
    "laptop's stream: t1 ended as cancelled and is completed",
    "laptop's stream: t1 ended 2 times",
  ]);
  expect(findViolations({ ...fine, entries: entries.filter((entry) => entry !== ended) })).toEqual([
    "phone's stream: t1 ended, and it was not told",
  ]);
  expect(withEntries({ ...ended, late: true, status: 'failed' })).toEqual([]);
});

it('[EX-6] finds a call that ran twice, did not run although reported, or ran although not allowed', () => {
  expect(withCalls(2, {})).toEqual(['append-ada-1.md was done 2 times, not 1…1: t1 completed']);
  expect(withCalls(0, {})).toEqual(['append-ada-1.md was done 0 times, not 1…1: t1 completed']);
  expect(withCalls(1, { status: 'rejected' })).toEqual([
    'append-ada-1.md was done 1 times, not 0…0: t1 rejected',
  ]);
  expect(withCalls(1, { status: 'timeout' })).toHaveLength(1);
  expect(withCalls(1, { status: 'failed', errorType: 'WRITE_FAILED' })).toHaveLength(1);
});

it('[EX-7] accepts a call of a lost runner that ran once or never, but exactly once if it was reported later', () => {
  const lost = { status: 'failed', errorType: 'RUNNER_LOST' };
  expect([0, 1].flatMap((times) => withCalls(times, lost))).toEqual([]);
  expect(withCalls(2, lost)).toHaveLength(1);
  expect(withCalls(0, { ...lost, lateStatus: 'completed' })).toHaveLength(1);
  expect([0, 1].flatMap((times) => withCalls(times, { status: 'cancelled' }))).toEqual([]);
  const failedCommand = { tool: 'shell_exec', status: 'failed', errorType: 'COMMAND_TIMEOUT' };
  expect([0, 1].flatMap((times) => withCalls(times, failedCommand))).toEqual([]);
});

it('[RN-12] finds an effect of a command whose layer was dropped', () => {
  const dropped = { tool: 'shell_exec', status: 'failed', errorType: 'LAYER_DROPPED' };
  expect(withCalls(0, dropped)).toEqual([]);
  expect(withCalls(1, dropped)).toHaveLength(1);
});

it('[EX-6] finds a call that ran without a claim or without approval', () => {
  const cancelled = { status: 'cancelled', approval: 'cancelled', isStarted: false };
  expect(withCalls(0, cancelled)).toEqual([]);
  expect(withCalls(1, cancelled)).toEqual(['append-ada-1.md was done 1 times, not 0…0: t1 cancelled']);
  expect(withCalls(1, { isStarted: false })).toEqual([
    'call t1 (append-ada-1.md) ran, and nobody had claimed it',
  ]);
  expect(withCalls(1, { approval: null })).toEqual([
    'call t1 (append-ada-1.md) ran, and its approval is null',
  ]);
});

it('[AG-2] finds an accepted run that is missing or unfinished, and a call that a run made twice', () => {
  const said = { what: 'said', user: 'ada', text: 'work', runId: 'r1' } as const;
  const run = { id: 'r1', status: 'completed' };
  expect(findViolations({ ...fine, entries: [...entries, said], runs: [run] })).toEqual([]);
  expect(findViolations({ ...fine, runs: [{ ...run, status: 'failed' }] })).toEqual([
    'run r1 is failed and not completed',
  ]);
  expect(withEntries(said)).toEqual(['"work" was accepted, and its run r1 is lost']);
  expect(withCalls(2, { runId: 'r1' }, { runId: 'r1' })).toEqual(['run r1: write_file was called 2 times']);
  expect(withCalls(2, { runId: 'r1' }, { runId: 'r2' })).toEqual([]);
});

it('[EV-2] finds a device whose stream was reset', () => {
  const reset = { ...ended, name: 'stream.reset', toolId: undefined, status: undefined } as const;
  expect(withEntries(reset)).toEqual(["ada's phone lost its place in the stream"]);
});

it('counts a duplicated request as two calls, and ignores reads', () => {
  expect(withCalls(2, {}, {})).toEqual([]);
  expect(withCalls(1, {}, { tool: 'read_file' })).toEqual([]);
  expect(withCalls(3, {}, {})).toHaveLength(1);
});

it('[AP-8] finds a change to a file version that nobody was shown', () => {
  expect(findViolations({ ...fine, tracesOf: () => ({ times: 1, base: 'base 2' }) })).toEqual([
    'append-ada-1.md was changed on "base 2", which no card had shown that was approved',
  ]);
});

it('[AP-2] finds a decision that differs from the one that a device was told', () => {
  expect(withEntries({ ...decided, decision: 'rejected', standing: 'rejected' })).toEqual([
    'a1: phone was told that it is rejected, and it is approved',
  ]);
  expect(withEntries({ ...resolved, status: 'rejected' })).toEqual([
    "phone's stream: a1 was resolved as rejected and is approved",
    "phone's stream: a1 was resolved 2 times",
  ]);
  expect(findViolations({ ...fine, entries: entries.filter((entry) => entry !== resolved) })).toEqual([
    "phone's stream: a1 was resolved, and it was not told",
  ]);
});
