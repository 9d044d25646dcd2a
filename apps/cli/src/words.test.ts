import type { CommandHelp } from '@countersign/words';
import { describe, expect, it } from 'vitest';
import { commandOptions, helpText } from './command-options.ts';
import { wordsFor } from './words.ts';

/** Example arguments of sentences that take something other than numbers or texts. */
const examples: Readonly<Record<string, readonly unknown[]>> = {
  '.said': ['only lists branches'],
  '.told': ['only lists branches'],
  '.title': [{ agent: 'Agent', tool_name: 'delete_file', tool_params: { path: 'a' }, description: 'x' }],
  '.scope': [{ offer: { scope: 'session', rules: [{ tool: '*' }] } }],
  '.keys.backtest': [{ considered: 3, matched: 2, approved: 1, rejected: 1 }],
  '.policy.matched': [{ considered: 3, matched: 2, wouldChange: 1 }],
};

/** Every sentence of a language, with each function filled in. */
function sentences(value: unknown, path = ''): [string, string][] {
  if (typeof value === 'string') return [[path, value]];
  if (typeof value === 'function') {
    const given = examples[path] ?? [2, 5, 7].slice(0, Math.max(value.length, 1));
    return [[path, String((value as (...values: unknown[]) => unknown)(...given))]];
  }
  return Object.entries(value as object).flatMap(([name, inner]) => sentences(inner, `${path}.${name}`));
}

describe('words', () => {
  // How "yes" may be typed is different in each language.
  const isSaid = ([path]: [string, string]) => !path.startsWith('.tools.yes');
  const english = sentences(wordsFor({ LANG: 'en_US.UTF-8' })).filter(isSaid);
  const russian = sentences(wordsFor({ LANG: 'ru_RU.UTF-8' })).filter(isSaid);

  it('has every sentence in both languages, and none is empty', () => {
    expect(russian.map(([path]) => path)).toEqual(english.map(([path]) => path));
    expect([...english, ...russian].filter(([, text]) => text.trim() === '')).toEqual([]);
  });

  it('is Russian where it says Russian', () => {
    const same = russian.filter(([path, text]) => !/[а-яё]/i.test(text) && !path.startsWith('.keys.look'));
    expect(same.map(([path]) => path)).toEqual([
      '.approvals.hint',
      '.doctor.node',
      '.doctor.parts.bubblewrap',
      '.doctor.git',
      '.calls.decided.onDevice',
    ]);
  });

  const names = Object.keys(wordsFor({}).help) as (keyof ReturnType<typeof wordsFor>['help'])[];
  const helpIn = (language: string, name: (typeof names)[number]) => helpText(name, wordsFor({}, language));

  it.each(names)('help of %s names the same in Russian, line by line', (name) => {
    // Words that are the same in every language: commands, options and names of settings.
    const typed = (text: string) =>
      text.match(/(?<=\n {2})countersign [a-z-]+|--[a-z-]+|COUNTERSIGN_[A-Z]+|\{".*\}/g)?.toSorted();
    expect(typed(helpIn('ru', name))).toEqual(typed(helpIn('en', name)));
    const lines = (text: string) => text.split('\n').filter((line) => line.startsWith('  ')).length;
    expect(lines(helpIn('ru', name))).toBe(lines(helpIn('en', name)));
  });

  it.each(Object.entries(commandOptions))('help of %s has every option that it takes', (command, options) => {
    const name = command === 'sign-out' ? 'sign-in' : command.split(' ')[0];
    const told = helpIn('en', name as (typeof names)[number]).match(/(?<=--)[a-z-]+/g);
    // `--help` itself, and `--json` of a command that prints nothing, need no line.
    const known = [...(told ?? []), 'help', ...(['acp', 'mcp'].includes(command) ? ['json'] : [])];
    expect(Object.keys(options).filter((option) => !known.includes(option))).toEqual([]);
  });

  it.each(names.filter((name) => name !== 'main'))(
    'help of %s lists no option that it does not take',
    (name) => {
      const { options = {} }: CommandHelp = wordsFor({}).help[name];
      expect(Object.keys(commandOptions[name])).toEqual(expect.arrayContaining(Object.keys(options)));
    },
  );

  it('help is in columns', () => {
    expect(
      helpIn('en', 'doctor'),
    ).toBe(`countersign doctor: what this machine has, what is missing, and how to get it

  countersign doctor [DIR]  (default: this directory)

Options
  --add-programs  let commands use the programs on your PATH that isolation hides (runner.json)
  --json          {"ok", "checks": [{"name", "state": "ok|warning|missing", "says", "remedy"?}], …}, in English
  --server URL    which server (default: the last one you signed in to)
  --lang LANG     en or ru

Ends with 1 when something that is needed is missing.
`);
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
