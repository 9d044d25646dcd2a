// biome-ignore-all lint/suspicious/noTemplateCurlyInString: shell text, not a template
import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { parse } from 'unbash';
import { describe, expect, it } from 'vitest';
import { readPlainWord } from './plain-word.ts';

/** The words that a text means, as we read it; undefined if it is not plain. */
function plainWords(text: string): readonly string[] | undefined {
  const script = parse(`set -- ${text}`);
  const [statement] = script.commands;
  if (script.errors || script.commands.length !== 1 || statement?.command.type !== 'Command')
    return undefined;
  const { args, redirects, prefix } = statement.command;
  if (redirects.length > 0 || prefix.length > 0 || statement.background) return undefined;
  const words: string[] = [];
  for (const argument of args.slice(1)) {
    const read = argument.type === 'Word' ? readPlainWord(argument, new Map()) : undefined;
    if (!read || read.some(({ isPattern, hasNumber }) => isPattern || hasNumber)) return undefined;
    words.push(...read.map(({ text: word }) => word));
  }
  return words;
}

/** What bash makes of each text, without file names. */
function bashWords(texts: readonly string[]): string[][] {
  const script = texts.map((text) => `set --; set -- ${text}\nprintf '%s\\0' "$#" "$@"`).join('\n');
  const { stdout } = spawnSync('bash', ['--noprofile', '--norc', '-f', '-s'], {
    input: script,
    encoding: 'utf8',
  });
  const fields = stdout.split('\0');
  const found: string[][] = [];
  for (let at = 0; at < fields.length - 1; ) {
    const count = Number(fields[at]);
    found.push(fields.slice(at + 1, at + 1 + count));
    at += 1 + count;
  }
  return found;
}

const fragments = [
  ...'a b / . - = : ~ 1 , @ % + ^ ! # é'.split(' '),
  ...[
    "'",
    '"',
    '\\',
    '\\\\',
    '\\"',
    '\\$',
    '\\\n',
    '$',
    '$a',
    '${a}',
    '$?',
    '$(',
    ')',
    '`',
    '{',
    '}',
    '{a,b}',
    '{1..3}',
  ],
  ...[
    '{01..03}',
    '{a..c}',
    '{v..v}',
    '{,x}',
    '{}',
    '..',
    "$'a'",
    '$"a"',
    '[',
    ']',
    ' ',
    '  ',
    '*',
    '?',
    '<(',
    '|',
    '&',
    ';',
  ],
];

describe('[VA-6] the words of a plain line', () => {
  it('are those that bash makes of them', () => {
    const texts = fc
      .sample(fc.array(fc.constantFrom(...fragments), { minLength: 1, maxLength: 9 }), {
        numRuns: 20_000,
        seed: 20,
      })
      .map((parts) => parts.join(''));
    const read = [...new Set(texts)].flatMap((text) => {
      const words = plainWords(text);
      return words ? [{ text, words }] : [];
    });
    expect(read.length).toBeGreaterThan(2_000);
    const made = bashWords(read.map(({ text }) => text));
    const different = read.flatMap(({ text, words }, i) =>
      JSON.stringify(words) === JSON.stringify(made[i]) ? [] : [{ text, words, bash: made[i] }],
    );
    expect(different.slice(0, 5)).toEqual([]);
    expect(made).toHaveLength(read.length);
  });

  it('are those of bash where a here-document in quotes is the text', () => {
    const texts = [
      `"$(cat <<'EOF'\nfix: read (the) date\n\n- it's {a,b} #12; rm -rf *\nEOF\n)"`,
      `"x$(cat <<'A'\n\n\nA\n  )y"`,
      `"$(cat <<'A'\nA\n)"`,
      `"$(cat <<"A"\n b \nAA\n\nA\n)" c`,
    ];
    const read = texts.map(plainWords);
    expect(read).not.toContain(undefined);
    expect(read).toEqual(bashWords(texts));
  });

  it.each([
    ['$HOME'],
    ['"$x"'],
    ['`id`'],
    ['$(id)'],
    ['<(id)'],
    ['~'],
    ['~/x'],
    ['a=~/x'],
    ["$'\\x41'"],
    ['$((1))'],
    ['${x:-y}'],
    ['!(a)'],
    ['{1..1000}'],
    ['{01..03}'],
    ['$"x"'],
    ['"`id`"'],
    ['"$(id)"'],
    ['$-'],
    ['$1'],
    ['$@'],
    ['$!'],
    ['a$[1]'],
  ])('are not plain: %s', (text) => {
    expect(plainWords(text)).toBe(undefined);
  });
});
