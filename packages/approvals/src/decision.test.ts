import type { OfferedScope, Preview } from '@countersign/protocol';
import { expect, it } from 'vitest';
import { backtestOf, choiceOf, decisionAnswer, scopeChoices, stepBeforeApproval } from './decision.ts';

const preview: Preview = { kind: 'summary', summary: 'x' };
const rule = { id: 'to-be-granted', effect: 'allow', tool: 'write_file', max_risk: 'MEDIUM' } as const;
const offer = (scope: OfferedScope['scope'], pattern: string | null): OfferedScope => ({
  scope,
  pattern,
  rules: [rule],
  label: '',
  warning: null,
  max_risk: 'MEDIUM',
});

it.each([
  ['LOW', preview, undefined, false, null],
  ['MEDIUM', preview, undefined, false, null],
  ['MEDIUM', null, undefined, false, 'confirm-unseen'],
  ['MEDIUM', null, undefined, true, 'wait-for-preview'],
  ['HIGH', preview, undefined, false, 'confirm-high'],
  ['HIGH', null, undefined, false, 'wait-for-preview'],
  ['HIGH', null, undefined, true, 'wait-for-preview'],
  ['MEDIUM', preview, true, false, 'unfit'],
  ['HIGH', null, true, false, 'unfit'],
] as const)(
  '[RK-1] [AP-7] [AP-8] approving %s with preview %o, unfit %s, one coming: %s takes %s',
  (...row) => {
    const [risk_level, shown, unfit, isPreviewComing, step] = row;
    const approval = { risk_level, preview: shown, ...(unfit && { unfit }) };
    expect(stepBeforeApproval({ approval, isPreviewComing })).toBe(step);
  },
);

it('[RN-13] a call that is being tried is approved by what came of it, not before', () => {
  const approval = { risk_level: 'HIGH', preview, trying: true } as const;
  expect(stepBeforeApproval({ approval, isPreviewComing: false })).toBe('wait-for-trial');
});

it('[AP-4] a wider approval sends scope and pattern back, and HIGH only where the person said so', () => {
  expect(choiceOf({ offer: offer('class', 'src/**') })).toEqual({ scope: 'class', pattern: 'src/**' });
  expect(choiceOf({ offer: offer('session', null) }, true)).toEqual({ scope: 'session', include_high: true });
});

it('[AP-4] "always" is for this project or for all', () => {
  const offers = [offer('class', 'src/**'), offer('always', 'src/**'), offer('session', null)];
  expect(scopeChoices(offers).map((choice) => choiceOf(choice))).toEqual([
    { scope: 'class', pattern: 'src/**' },
    { scope: 'always', pattern: 'src/**', only_here: true },
    { scope: 'always', pattern: 'src/**' },
    { scope: 'session' },
  ]);
});

it('[RK-5] tries the rules that are granted, together', () => {
  expect(backtestOf(offer('always', null))).toEqual({ rule });
  expect(backtestOf(offer('always', null), true)).toEqual({ rule: { ...rule, max_risk: 'HIGH' } });
  const second = { ...rule, tool: 'edit_file' };
  expect(backtestOf({ rules: [rule, second] })).toEqual({ rule, further_rules: [second] });
});

it('[AP-6] looks again at a request that is still pending after the decision', async () => {
  const response = { success: true, approval_id: 'a1', status: 'pending' } as const;
  const sent = Promise.resolve({ outcome: 'recorded', response } as const);
  expect(await decisionAnswer(sent)).toEqual({ kind: 'look-again', notice: null });
});
