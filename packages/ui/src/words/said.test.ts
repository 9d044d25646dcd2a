import { describeError, errorCodes } from '@countersign/protocol';
import { describe, expect, it } from 'vitest';
import { russianErrors } from './russian-errors.ts';
import { russianMachine } from './russian-machine.ts';
import { russianReasons } from './russian-reasons.ts';
import { translator } from './said.ts';
import { languages } from './words.ts';

const { said } = languages.ru;
const namesIn = (text: string): string[] => [...new Set(text.match(/\{\w+\}/g))].sort();

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
    expect(languages.en.said(english)).toBe(english);
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

  it('does not take a value for a place to be filled', () => {
    const say = translator([['"{a}" and {b}', '{b} и «{a}»']]);
    expect(say('"{b}" and $1 $& {a}')).toBe('$1 $& {a} и «{b}»');
  });
});

describe('translations', () => {
  const errors = Object.entries(russianErrors).map(
    ([code, russian]) => [errorCodes[code as keyof typeof errorCodes].message, russian] as const,
  );
  const phrases = [...Object.entries(russianMachine), ...Object.entries(russianReasons)];
  it.each([...errors, ...phrases])('leaves nothing out: %s', (english, russian) => {
    expect(namesIn(russian)).toEqual(namesIn(english));
  });
});
