import { expect, it } from 'vitest';
import { countErt } from './ert-run.ts';

it('reports the counts of Emacs', () => {
  const failures = ['countersign-one', 'countersign-two'];
  expect(countErt({ passed: 3, failures }, 1)).toEqual({ passed: 3, failures });
});

it('counts an Emacs without a report, or with a bad exit code, as one failure', () => {
  expect(countErt(undefined, 255)).toEqual({ passed: 0, failures: ['Emacs ended with 255'] });
  expect(countErt({ passed: 3, failures: [] }, 1)).toEqual({ passed: 3, failures: ['Emacs ended with 1'] });
});
