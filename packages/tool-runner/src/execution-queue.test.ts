import { settle } from '@countersign/testing';
import { expect, it } from 'vitest';
import { ExecutionQueue } from './execution-queue.ts';
import { ConcurrencyLimitError, ExecutionCancelled } from './runner-errors.ts';

const never = new AbortController().signal;

/** Tasks that end when the test says so. */
function heldTasks() {
  const ends: Record<string, () => void> = {};
  const started: string[] = [];
  const task = (id: string) => () =>
    new Promise<string>((resolve) => {
      started.push(id);
      ends[id] = () => resolve(id);
    });
  return { ends, started, task };
}

it('[EX-4] runs as many as it may, the others in the order they came', async () => {
  const queue = new ExecutionQueue({ limit: 2, maxWaiting: 10 });
  const { ends, started, task } = heldTasks();
  const results = ['a', 'b', 'c', 'd'].map((id) => queue.run(id, never, task(id)));
  await settle();
  expect([queue.running, queue.waiting]).toEqual([2, ['c', 'd']]);
  ends.b?.();
  await settle();
  expect([started, queue.waiting]).toEqual([['a', 'b', 'c'], ['d']]);
  ends.a?.();
  await settle();
  for (const end of Object.values(ends)) end();
  expect(await Promise.all(results)).toEqual(['a', 'b', 'c', 'd']);
  expect([queue.running, queue.waiting]).toEqual([0, []]);
});

it('a task that fails makes room as well', async () => {
  const queue = new ExecutionQueue({ limit: 1, maxWaiting: 10 });
  const failing = queue.run('a', never, () => Promise.reject(new Error('broken')));
  const next = queue.run('b', never, async () => 'done');
  await expect(failing).rejects.toThrow('broken');
  expect(await next).toBe('done');
});

it('[EX-4] refuses more than may wait', async () => {
  const queue = new ExecutionQueue({ limit: 1, maxWaiting: 1 });
  const { ends, task } = heldTasks();
  const first = queue.run('a', never, task('a'));
  const second = queue.run('b', never, task('b'));
  await expect(queue.run('c', never, task('c'))).rejects.toThrow(ConcurrencyLimitError);
  ends.a?.();
  await first;
  await settle();
  ends.b?.();
  expect(await second).toBe('b');
});

it('[EX-8] a task that is cancelled while it waits never begins, and does not block others', async () => {
  const queue = new ExecutionQueue({ limit: 1, maxWaiting: 10 });
  const { ends, started, task } = heldTasks();
  const cancel = new AbortController();
  const first = queue.run('a', never, task('a'));
  const second = queue.run('b', cancel.signal, task('b'));
  const third = queue.run('c', never, task('c'));
  cancel.abort();
  await expect(second).rejects.toThrow(ExecutionCancelled);
  ends.a?.();
  await first;
  await settle();
  expect(started).toEqual(['a', 'c']);
  ends.c?.();
  await third;
  await expect(queue.run('d', cancel.signal, task('d'))).rejects.toThrow(ExecutionCancelled);
});
