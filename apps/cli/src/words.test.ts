import { describe, expect, it } from 'vitest';
import { wordsFor } from './words.ts';

/** Every sentence of a language, with each function filled in. */
function sentences(value: unknown, path = ''): [string, string][] {
  if (typeof value === 'string') return [[path, value]];
  if (typeof value === 'function') {
    const backtest = { considered: 3, matched: 2, approved: 1, rejected: 1 };
    const given = path.endsWith('.backtest') ? [backtest] : [2, 5, 7].slice(0, Math.max(value.length, 1));
    return [[path, String((value as (...values: unknown[]) => unknown)(...given))]];
  }
  return Object.entries(value as object).flatMap(([name, inner]) => sentences(inner, `${path}.${name}`));
}

describe('words', () => {
  const english = sentences(wordsFor({ LANG: 'en_US.UTF-8' }));
  const russian = sentences(wordsFor({ LANG: 'ru_RU.UTF-8' }));

  it('has every sentence in both languages, and none is empty', () => {
    expect(russian.map(([path]) => path)).toEqual(english.map(([path]) => path));
    expect([...english, ...russian].filter(([, text]) => text.trim() === '')).toEqual([]);
  });

  it('is Russian where it says Russian', () => {
    const same = russian.filter(([path, text]) => !/[а-яё]/i.test(text) && !path.startsWith('.keys.look'));
    expect(same.map(([path]) => path)).toEqual(['.approvals.hint', '.doctor.node', '.doctor.git']);
  });

  it('follows what was asked for, then the environment, then English', () => {
    expect(wordsFor({ LANG: 'ru_RU.UTF-8' }, 'en').risk.HIGH).toBe('HIGH');
    expect(wordsFor({ LC_ALL: 'ru_RU', LANG: 'en_US' }).risk.HIGH).toBe('ВЫСОКИЙ');
    expect(wordsFor({ LANG: 'C' }).risk.HIGH).toBe('HIGH');
    expect(wordsFor({}, 'fr').risk.HIGH).toBe('HIGH');
  });

  it('counts as each language counts', () => {
    const ru = wordsFor({}, 'ru');
    expect([1, 2, 5].map((n) => ru.card.commits(n))).toEqual(['1 коммит', '2 коммита', '5 коммитов']);
    expect(ru.keys.backtest({ considered: 3, matched: 0, approved: 0, rejected: 0 })).toContain('Ни один');
    const en = wordsFor({}, 'en');
    expect([1, 2].map((n) => en.card.more(n))).toEqual(['1 more waits · l list', '2 more wait · l list']);
    expect(en.keys.backtest({ considered: 3, matched: 0, approved: 0, rejected: 0 })).toContain('None');
  });
});
