import { expect, it } from 'vitest';
import { LossNotice } from './loss-notice.ts';

/** A notice whose `tell` resolves when the test calls the function in `answers`. */
function pendingNotice(): { notice: LossNotice; answers: ((isTold: boolean) => void)[] } {
  const answers: ((isTold: boolean) => void)[] = [];
  const notice = new LossNotice(() => new Promise((resolve) => answers.push(resolve)));
  return { notice, answers };
}

it('[UI-5] reports a lost connection once, and again at the next retry if reporting did not work', async () => {
  const { notice, answers } = pendingNotice();
  const first = notice.retried();
  await notice.retried();
  expect(answers.length).toBe(1);
  answers[0]?.(false);
  await first;
  const second = notice.retried();
  expect(answers.length).toBe(2);
  answers[1]?.(true);
  await second;
  await notice.retried();
  expect(answers.length).toBe(2);
});

it('[UI-5] reports the next loss even if `tell` for the earlier one resolves late', async () => {
  const { notice, answers } = pendingNotice();
  const before = notice.retried();
  notice.over();
  answers[0]?.(true);
  await before;
  void notice.retried();
  expect(answers.length).toBe(2);
});

it('[UI-5] reports again at the next retry if reporting failed', async () => {
  let attempts = 0;
  const notice = new LossNotice(() => {
    attempts += 1;
    return Promise.reject(new Error('no answer'));
  });
  await notice.retried();
  await notice.retried();
  expect(attempts).toBe(2);
});
