import type { ServerStatus } from '@countersign/tool-runner';
import { expect, it } from 'vitest';
import { wordsFor } from '../words.ts';
import { ToolNotices } from './tool-notices.ts';

const server = (state: ServerStatus['state'], problem?: string): ServerStatus => ({
  name: 'db',
  owner: 'workspace',
  state,
  runs: 'node db.ts',
  network: false,
  tools: [],
  leftOut: [],
  ...(problem !== undefined && { problem }),
});

it('says once what keeps a tool server from working, and again when it has worked meanwhile', () => {
  const notices = new ToolNotices(wordsFor({}, 'en').tools, (text) => String(text));
  const says = (...servers: ServerStatus[]) => notices.news(servers).map((notice) => notice.says);
  const waits = server('not_allowed', 'you have not allowed it yet');
  expect(says(waits)).toEqual([expect.stringContaining('countersign tools allow db')]);
  expect(says(waits)).toEqual([]);
  expect(says(server('unusable', 'its url is no http address'))).toEqual([
    'The tool server db cannot be used: its url is no http address',
  ]);
  const failed = server('failed', 'it ended with 1');
  expect(says(failed)).toEqual(['The tool server db failed: it ended with 1 (countersign tools list)']);
  expect(says(server('starting', 'it ended with 1'))).toEqual([]); // it is being tried again
  expect(says(failed)).toEqual([]);
  expect(says(server('ready'))).toEqual([]);
  expect(says(failed)).toHaveLength(1);
});

/** Every sentence, with each function filled in. */
const sentences = (value: unknown): string[] => {
  if (typeof value === 'string') return [value];
  if (typeof value === 'function') return [String(value('db', 'it'))];
  return Object.values(value as object).flatMap(sentences);
};

it('says everything in both languages', () => {
  const [english, russian] = [wordsFor({}, 'en').tools, wordsFor({ LANG: 'ru_RU.UTF-8' }).tools].map(
    sentences,
  );
  expect(english?.every((sentence) => sentence !== '' && !/[а-яё]/i.test(sentence))).toBe(true);
  expect(russian?.filter((sentence) => !/[а-яё]/i.test(sentence))).toEqual(['yes', 'y']);
});
