import { expect, it } from 'vitest';
import { type CallRecord, findViolations, type Remains } from './checker.ts';
import type { Entry } from './history.ts';

const mark = 'append-ada-1.md';
const call: CallRecord = {
  id: 't1',
  tool: 'write_file',
  mark,
  status: 'completed',
  errorType: null,
  lateStatus: null,
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
  status: 'completed',
  late: false,
} as const;
const entries: readonly Entry[] = [
  { what: 'called', user: 'ada', mark, toolId: 't1' },
  { what: 'seen', user: 'ada', toolId: 't1', status: 'awaiting_approval' },
  { what: 'approving', user: 'ada', mark, approvalId: 'a1', digest: 'd', base: 'base 1' },
  decided,
  { ...decided, device: 'laptop', outcome: 'already' },
  ended,
  { what: 'seen', user: 'ada', toolId: 't1', status: 'completed' },
  { what: 'fault', kind: 'cut', about: '{}' },
];
const fine: Remains = {
  entries,
  calls: [call],
  approvals: [{ id: 'a1', status: 'approved' }],
  tracesOf: () => ({ times: 1, base: 'base 1' }),
};
const withEntries = (...more: Entry[]) => findViolations({ ...fine, entries: [...entries, ...more] });
const withCalls = (times: number, ...calls: Partial<CallRecord>[]) =>
  findViolations({
    ...fine,
    entries: entries.filter(({ what }) => what === 'approving'),
    calls: calls.map((changed, i) => ({ ...call, id: `t${i + 1}`, ...changed })),
    tracesOf: () => ({ times, base: 'base 1' }),
  });

it('finds nothing wrong with a run in which nothing was', () => {
  expect(findViolations(fine)).toEqual([]);
});

it('finds what an actor saw at once, and a server that ended by itself', () => {
  expect(
    withEntries(
      { what: 'wrong', problem: 'bob was told of ada' },
      { what: 'ended', node: 1, how: '1', log: 'RangeError' },
    ),
  ).toEqual(['bob was told of ada', 'node 1 ended by itself (1): RangeError']);
});

it('[EX-1] finds a call that was accepted and is not there, and one that has not ended', () => {
  expect(withEntries({ what: 'called', user: 'ada', mark, toolId: 't9' })).toEqual([
    'call t9 (append-ada-1.md) was accepted and is lost',
  ]);
  expect(withCalls(0, { status: 'approved' })).toContain('call t1 (append-ada-1.md) is still approved');
});

it('[EX-2] finds a final state that changed, and an end that was told twice', () => {
  expect(withEntries({ what: 'seen', user: 'ada', toolId: 't1', status: 'failed' })).toEqual([
    'call t1 was seen failed and is completed',
  ]);
  expect(withEntries(ended)).toEqual(["phone's stream: t1 ended 2 times"]);
  expect(withEntries({ ...ended, device: 'laptop', status: 'cancelled' })).toEqual([
    "laptop's stream: t1 ended as cancelled and is completed",
  ]);
  expect(withEntries({ ...ended, late: true, status: 'failed' })).toEqual([]);
});

it('[EX-6] finds what ran twice, or not although it was reported, or although it was not allowed', () => {
  expect(withCalls(2, {})).toEqual(['append-ada-1.md was done 2 times, not 1…1: t1 completed']);
  expect(withCalls(0, {})).toEqual(['append-ada-1.md was done 0 times, not 1…1: t1 completed']);
  expect(withCalls(1, { status: 'rejected' })).toEqual([
    'append-ada-1.md was done 1 times, not 0…0: t1 rejected',
  ]);
  expect(withCalls(1, { status: 'timeout' })).toHaveLength(1);
  expect(withCalls(1, { status: 'failed', errorType: 'WRITE_FAILED' })).toHaveLength(1);
});

it('[EX-7] lets a call whose runner was lost have run once or not, and exactly once if that was reported later', () => {
  const lost = { status: 'failed', errorType: 'RUNNER_LOST' };
  expect([0, 1].flatMap((times) => withCalls(times, lost))).toEqual([]);
  expect(withCalls(2, lost)).toHaveLength(1);
  expect(withCalls(0, { ...lost, lateStatus: 'completed' })).toHaveLength(1);
  expect([0, 1].flatMap((times) => withCalls(times, { status: 'cancelled' }))).toEqual([]);
  const failedCommand = { tool: 'shell_exec', status: 'failed', errorType: 'COMMAND_TIMEOUT' };
  expect([0, 1].flatMap((times) => withCalls(times, failedCommand))).toEqual([]);
});

it('counts a request that the network doubled as two calls, and reading as nothing', () => {
  expect(withCalls(2, {}, {})).toEqual([]);
  expect(withCalls(1, {}, { tool: 'read_file' })).toEqual([]);
  expect(withCalls(3, {}, {})).toHaveLength(1);
});

it('[AP-8] finds a change of a file as nobody had seen it', () => {
  expect(findViolations({ ...fine, tracesOf: () => ({ times: 1, base: 'base 2' }) })).toEqual([
    'append-ada-1.md was changed on "base 2", which no card had shown that was approved',
  ]);
});

it('[AP-2] finds a decision that is not the one that somebody was told', () => {
  expect(withEntries({ ...decided, decision: 'rejected', standing: 'rejected' })).toEqual([
    'a1: phone was told that it is rejected, and it is approved',
  ]);
});
