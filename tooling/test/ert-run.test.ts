import { expect, it } from 'vitest';
import { countErt } from './ert-run.ts';

it('counts what Emacs counted', () => {
  expect(countErt({ passed: 3, failed: 2, skipped: 1 }, 1)).toEqual({ passed: 3, failed: 2 });
});

it('counts an Emacs that ended without a report as one failure', () => {
  expect(countErt(undefined, 255)).toEqual({ passed: 0, failed: 1 });
  expect(countErt({ passed: 3, failed: 0 }, 1)).toEqual({ passed: 3, failed: 1 });
});
