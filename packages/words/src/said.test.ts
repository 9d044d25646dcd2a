import { describeError, errorCodes } from '@countersign/protocol';
import { describe, expect, it } from 'vitest';
import { englishReasons } from './english/reasons.ts';
import { type Sentence, sayIn, sentencePlaces, sentences } from './said.ts';
import { fill } from './template.ts';

const said = sayIn('ru');

describe('what the server says', () => {
  it.each([
    ['changes a source or document file', 'меняет исходный код или документ'],
    [
      'changes a hook that runs on the next commit or install',
      'меняет: хук, который сработает при следующем коммите или установке',
    ],
    [
      '"a/.env" is a sensitive file: environment file with secrets',
      '«a/.env» — файл с секретами: файл окружения с секретами',
    ],
    [
      describeError('PATH_INVALID', {
        path: 'a\\b',
        problem: 'it contains a backslash; components are separated by /',
      }).message,
      '«a\\b» не годится как путь: в нём есть обратная косая черта; части разделяет /. Нужен простой путь от корня рабочей папки.',
    ],
    [
      describeError('SHELL_CATASTROPHE', { problem: 'it formats or repartitions a disk (mkfs)' }).message,
      'Отклонено без вопросов: форматирует диск или меняет его разделы (mkfs). Никакое одобрение этого не разрешит.',
    ],
    [
      describeError('USAGE', { problem: "Unknown option '--prot'", help: 'countersign serve --help' })
        .message,
      'Ключа --prot нет. Как это используется, покажет countersign serve --help.',
    ],
    ['There is no run here with that id.', 'Запуска с таким идентификатором здесь нет.'],
    [
      'The server did not answer: fetch failed (ECONNREFUSED). Try again in a moment.',
      'Сервер не ответил: fetch failed (ECONNREFUSED). Попробуйте чуть позже.',
    ],
    [
      describeError('NO_RUNNER', { workspace: '/home/я/мой проект' }).message,
      'Для /home/я/мой проект не подключён исполнитель. Откройте эту папку в редакторе или выполните: countersign connect /home/я/мой проект',
    ],
  ])('%s', (english, russian) => {
    expect(said(english)).toBe(russian);
    expect(sayIn('en')(english)).toBe(english);
  });

  it.each([
    ['words that nobody knows'],
    [''],
    [`changes a ${'x'.repeat(3_000)}`],
    ['"a" is a sensitive file'],
  ])('stays as it was where it is not known: %.40s', (text) => expect(said(text)).toBe(text));

  it('is quick with a text made to be slow', () => {
    const text = `"${'" is a sensitive file: '.repeat(80)}`.slice(0, 2_000);
    const began = process.cpuUsage();
    for (let i = 0; i < 20; i += 1) said(`${text}!`);
    expect(process.cpuUsage(began).user / 1_000).toBeLessThan(20_000);
  });

  it('leaves a very long text in English', () => {
    const { message } = describeError('IS_A_DIRECTORY', { path: 'x'.repeat(2_000) });
    expect(said(message)).toBe(message);
  });

  it('does not take a value for a place to be filled', () => {
    const { message } = describeError('FILE_TOO_LARGE', { path: '{limit} $1 $&', size: 1, limit: 2 });
    expect(said(message)).toContain('«{limit} $1 $&» занимает 1 байт, а предел — 2.');
  });
});

describe('a sentence with its id', () => {
  it('is translated by it', () => {
    expect(said({ rule: 'CMD-READ', why: 'only reads inside the workspace' })).toBe(
      'только читает внутри рабочей папки',
    );
    expect(said(describeError('IS_A_DIRECTORY', { path: 'src' }))).toContain('«src» — папка.');
  });

  it('[AP-8] says what its English says, whatever the id: nobody can put other words on a card', () => {
    expect(said({ rule: 'CMD-READ', why: 'it formats or repartitions a disk' })).toBe(
      'форматирует диск или меняет его разделы',
    );
    for (const why of [
      'deletes everything',
      'Only reads inside the workspace',
      'only reads a file of the ether',
    ])
      expect(said({ rule: 'CMD-READ', why })).toBe(why);
    const message = '"src" is a directory. Name a file, or use list_directory. And more.';
    expect(said({ code: 'IS_A_DIRECTORY', message })).toBe(message);
    expect(said({ code: 'FILE_NOT_FOUND', message: 'It is gone.' })).toBe('It is gone.');
    expect(said({ code: 'toString', message: 'It is gone.' })).toBe('It is gone.');
    expect(said({ code: 4, message: 'It is gone.' })).toBe('It is gone.');
  });
});

describe('[AP-8] the words of somebody else', () => {
  it.each([
    ['no-curl', 'This call is already known to leak secrets. Nothing was changed.'],
    ['no-curl', 'the server takes it for granted that this is safe; it is not'],
    ['SERVER-1', 'the server takes it for granted that this is safe; it is not'],
    ['CMD-READ', 'the server takes it for HIGH'],
    ['changes-place', 'changes a thing that nobody knows'],
    ['EXEC-1', 'changes a thing that nobody knows'],
    ['SH-0', 'changes a thing that nobody knows'],
    ['CMD-READ', 'changes a private key'],
    ['ALREADY_FINAL', 'This call is already completed. Nothing was changed.'],
    ['not-running', 'it is not running'],
    ['no-keys', 'private key'],
    ['no-curl', "denied by the bank's policy: it is empty"],
    ['MORE', 'and many more reasons'],
  ])('stay as they were in a reason of %s: %s', (rule, why) => {
    expect(said({ rule, why })).toBe(why);
  });

  it('stay as they were where a sentence of ours quotes them', () => {
    const why = 'This call is already known to leak secrets. Nothing was changed.';
    const reason = { rule: 'no-curl', why: `denied by the person's own policy: ${why}` };
    expect(said(reason)).toContain(why);
    expect(said(reason)).toMatch(/[а-я]{3}/);
    expect(said(describeError('DENIED_BY_POLICY', { owner: "person's own", why: 'private key' }))).toContain(
      'private key',
    );
  });

  it('are not those of our code about a rule that does not say why', () => {
    expect(said({ rule: 'mine', why: 'your own policy wants this to be asked' })).toMatch(/[а-я]{3}/);
    expect(said({ rule: 'mine', why: 'may show what rule "mine" denies: private key' })).toContain(
      'private key',
    );
  });
});

/**
 * Values for placeholders that accept only certain values. Any other placeholder contains data, which stays as it is.
 */
const ownValues: Readonly<Record<string, string>> = {
  owner: "person's own",
  problem: 'it is empty',
  place: 'private key',
  risk: 'HIGH',
  rest: '3',
};
const placesOf = (text: string): string[] => [
  ...new Set([...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string)),
];
const withId = (id: string, text: string): Sentence => {
  if (Object.hasOwn(errorCodes, id)) return { code: id, message: text };
  return Object.hasOwn(englishReasons, id) && /^[A-Z]/.test(id) ? { rule: id, why: text } : text;
};
const open = Object.entries(sentences.en).flatMap(([id, text]) =>
  placesOf(text)
    .filter((place) => !sentencePlaces.has(place) && !Object.hasOwn(ownValues, place))
    .map((place) => [id, place, text] as const),
);

it.each(open)('%s keeps {%s} letter for letter', (id, place, text) => {
  const values = Object.fromEntries(placesOf(text).map((name) => [name, ownValues[name] ?? `<${name}>`]));
  const english = fill(text, { ...values, [place]: 'private key' });
  const russian = said(withId(id, english));
  expect(russian).not.toBe(english);
  expect(russian).toContain('private key');
});
