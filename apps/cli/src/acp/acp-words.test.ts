import { routes } from '@countersign/protocol';
import { expect, it } from 'vitest';
import { wordsFor } from '../words.ts';

const sentences = (words: object): string[] =>
  Object.values(words).flatMap((word: unknown) =>
    Array.isArray(word) // answers that a person may type, which are not sentences
      ? []
      : typeof word === 'function'
        ? [String(word('ONE', 'TWO'))]
        : typeof word === 'object' && word !== null
          ? sentences(word)
          : [String(word)],
  );

it.each(['acp', 'tokens', 'tools', 'up'] as const)(
  'every sentence of %s is there in both languages',
  (name) => {
    const english = sentences(wordsFor({}, 'en')[name]);
    const russian = sentences(wordsFor({ LANG: 'ru_RU.UTF-8' })[name]);
    expect(russian.length).toBe(english.length);
    expect(russian.filter((text) => !/[а-яё]/i.test(text))).toEqual([]);
    expect(english.filter((text) => /[а-яё]/i.test(text))).toEqual([]);
    const holes = (texts: string[]) => texts.map((text) => text.includes('ONE'));
    expect(holes(russian)).toEqual(holes(english));
  },
);

it('[AP-9] the question before pairing says all that the token can do', () => {
  const changing = Object.entries(routes).filter(
    ([, { method, scopes }]) =>
      method !== 'GET' && Array.isArray(scopes) && scopes.some((scope) => scope === 'front_end'),
  );
  const said: Record<string, RegExp> = {
    sendMessage: /write to the agent/,
    changeQueuedMessage: /write to the agent/,
    removeQueuedMessage: /write to the agent/,
    sendQueuedMessage: /write to the agent/,
    createSession: /write to the agent/,
    approve: /approve .* HIGH risk too; grant a session; "always" saves a rule/,
    approveById: /approve/,
    confirm: /approve/,
    reject: /reject/,
    rejectById: /reject/,
    cancelExecution: /cancel calls/,
    undoExecution: /undo/,
    changeSession: /rename conversations and switch their mode: ask, accept edits, read only/,
    revokeGrant: /revoke grants/,
    stopRun: /stop it/,
    rewindSession: /rewind, branch and delete conversations/,
    branchSession: /rewind, branch and delete conversations/,
    deleteSession: /rewind, branch and delete conversations/,
    undoRun: /undo what calls changed/,
    tryCall: /have a command tried first: it then runs without network/,
    backtestPolicy: /read .* your policy/, // a POST that changes nothing
  };
  // A new route needs a new line here.
  expect(changing.map(([name]) => name).toSorted()).toEqual(Object.keys(said).toSorted());
  const question = wordsFor({}, 'en').acp.pairingMeans('http://127.0.0.1:4180');
  for (const words of Object.values(said)) expect(question).toMatch(words);
});
