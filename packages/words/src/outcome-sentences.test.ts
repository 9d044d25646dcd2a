import { describeError } from '@countersign/protocol';
import { expect, it } from 'vitest';
import { tellIn } from './outcome-sentences.ts';

const noMatch = 'The text to replace does not occur in "a.md". Read the file again and copy it exactly.';

it.each([
  ['en', 'The text to replace does not occur in "a.md".'],
  ['ru', expect.stringMatching(/^[^.]*"?a\.md"?[^.]*\.$/)],
] as const)('leaves out the advice for the agent in %s', (language, told) => {
  expect(tellIn(language)({ code: 'EDIT_NO_MATCH', message: noMatch })).toEqual(told);
});

it.each([
  [
    {
      code: 'PROGRAM_NOT_FOUND',
      message: 'jq is not installed on this machine. The person must install it.',
    },
    'jq is not installed on this machine.',
  ],
  [describeError('APPROVAL_REJECTED'), 'You rejected this call.'],
  [describeError('APPROVAL_REJECTED').message, 'You rejected this call.'],
  [
    { code: 'RUN_ENDED', message: describeError('REJECTED_BEFORE').message },
    'You rejected this very call twice, so you are not asked again.',
  ],
])('speaks to the person: %j', (sentence, told) => expect(tellIn('en')(sentence)).toBe(told));

it.each([
  { code: 'EDIT_NO_MATCH', message: 'Something else. Entirely.' },
  {
    code: 'NO_RUNNER',
    message: 'No runner is connected for x. Open it in an editor, or run: countersign connect x',
  },
  { code: 'toString', message: 'Of no code. At all.' },
])('leaves other errors as they are: %j', (error) => expect(tellIn('en')(error)).toBe(error.message));
