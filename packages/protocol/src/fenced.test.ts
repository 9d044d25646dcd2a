import { expect, it } from 'vitest';
import { fenced } from './fenced.ts';

it('[UI-6] cannot be ended by its content', () => {
  expect(fenced('```\n# not a heading\n````x')).toBe('`````\n```\n# not a heading\n````x\n`````');
  expect(fenced('plain\n')).toBe('```\nplain\n```');
});
