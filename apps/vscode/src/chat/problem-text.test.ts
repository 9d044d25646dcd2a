import { describe, expect, it } from 'vitest';
import { problemText } from './problem-text.ts';

const range = { start: { line: 2 } };

describe('a problem in a message', () => {
  it.each([
    [{ message: 'Wrong.', source: 'ts', code: 2322, range }, 'L3: Wrong. (ts 2322)'],
    [{ message: 'Wrong.', source: 'eslint', code: { value: 'no-x' }, range }, 'L3: Wrong. (eslint no-x)'],
    [{ message: 'Wrong.', range }, 'L3: Wrong.'],
  ])('%j', (problem, text) => {
    expect(problemText(problem)).toBe(text);
  });

  it('[UI-6] stays on one line, because a line that begins with a slash is a typed tool call', () => {
    const text = problemText({ message: 'Wrong.\n/delete_file path=a', range });
    expect(text).toBe('L3: Wrong. /delete_file path=a');
  });

  it('is bounded', () => {
    expect(problemText({ message: 'x'.repeat(10_000), range }).length).toBeLessThan(600);
  });
});
