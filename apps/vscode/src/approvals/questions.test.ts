import type { Preview } from '@countersign/protocol';
import { describe, expect, it } from 'vitest';
import { wordsFor } from '../words.ts';
import { firstChoices, secondQuestion } from './questions.ts';

const words = wordsFor('en');
const { approval } = words;
const preview: Preview = { kind: 'summary', summary: 'x' };
const shown = (change: object = {}, isPreviewComing = false, isTryable = false) => ({
  request: {
    agent: 'Agent',
    tool_name: 'write_file',
    tool_params: { path: 'a.md' },
    description: 'Agent wants to change a.md',
    risk_level: 'MEDIUM',
    preview,
    ...change,
  } as never,
  isPreviewComing,
  isTryable,
});
const seen = { isSeen: true };

describe('the dialog about a request', () => {
  it('[UI-6] offers to approve, and in a HIGH one the safe answer has the focus', () => {
    expect(firstChoices(shown(), words, seen)).toEqual(['Approve', 'Approve More…', 'Reject…']);
    expect(firstChoices(shown({ risk_level: 'HIGH' }), words, seen)[0]).toBe('Reject…');
  });

  it('[UI-6] shows first what is too long for it', () => {
    expect(firstChoices(shown(), words, { isSeen: false })).toEqual([approval.showAll, approval.reject]);
  });

  it('[RN-13] offers to try a command first, also one that is too long for it', () => {
    const tryable = shown({}, false, true);
    expect(firstChoices(tryable, words, seen)).toEqual([
      'Approve',
      'Try it first',
      'Approve More…',
      'Reject…',
    ]);
    expect(firstChoices(tryable, words, { isSeen: false })).toContain('Try it first');
  });

  it.each([
    ['[RN-13] that is being tried', shown({ trying: true })],
    ['[AP-8] whose preview is not what its digest names', shown({ unfit: true })],
    ['[AP-7] whose preview is being made', shown({ preview: null }, true)],
    ['[AP-7] at HIGH without a preview', shown({ risk_level: 'HIGH', preview: null })],
  ])('offers only to reject one %s', (_, request) => {
    expect(firstChoices(request, words, seen)).toEqual([approval.reject]);
  });
});

describe('between "approve" and sending it', () => {
  it('a previewed MEDIUM call needs nothing more', () => {
    expect(secondQuestion(shown(), words)).toBeUndefined();
  });

  it('[RK-1] HIGH takes a second step', () => {
    expect(secondQuestion(shown({ risk_level: 'HIGH' }), words)).toEqual({
      title: approval.highQuestion('Agent wants to change a.md'),
      confirm: approval.confirmApprove,
    });
  });

  it('[AP-7] a call that nobody previews takes a second step, which says so', () => {
    expect(secondQuestion(shown({ preview: null }), words)).toEqual({
      title: 'Agent wants to change a.md',
      warning: 'There is no preview yet: you would approve this without having seen what it does.',
      confirm: 'Yes, approve it unseen',
    });
  });

  it('[AP-7] [AP-8] one whose preview is being made, or is unfit, is not sent', () => {
    expect(secondQuestion(shown({ preview: null }, true), words)).toEqual({
      refusal: approval.previewPending,
    });
    expect(secondQuestion(shown({ unfit: true }), words)).toEqual({ refusal: approval.unfit });
    expect(secondQuestion(shown({ trying: true }), words)).toEqual({
      refusal: 'It can be approved once the trial has ended.',
    });
  });
});
