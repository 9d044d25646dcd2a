import { describe, expect, it } from 'vitest';
import { partOfOperand, readShellLine, shellParts } from './shell-parts.ts';

const read = (line: string) =>
  shellParts(line).map(({ operator, text, writes }) => [operator, text.trim(), ...writes]);

describe('the parts of a shell line', () => {
  it.each([
    ['ls', [['', 'ls']]],
    [
      "npm test | tee -a 'all out' log.txt >more.txt",
      [
        ['', 'npm test'],
        ['|', "tee -a 'all out' log.txt >more.txt", 'more.txt', 'all out', 'log.txt'],
      ],
    ],
    [
      'cat a.md | grep -i b > out.txt && rm -f out.txt',
      [
        ['', 'cat a.md'],
        ['|', 'grep -i b > out.txt', 'out.txt'],
        ['&&', 'rm -f out.txt'],
      ],
    ],
    [
      'make >>log 2>&1; echo "a | b"',
      [
        ['', 'make >>log 2>&1', 'log'],
        [';', 'echo "a | b"'],
      ],
    ],
    [
      "node a.js &> 'all out' &",
      [
        ['', "node a.js &> 'all out'", 'all out'],
        ['&', ''],
      ],
    ],
    [
      '(cd a && ls) || true',
      [
        ['', '(cd a && ls)'],
        ['||', 'true'],
      ],
    ],
    ['echo $(ls | wc)', [['', 'echo $(ls | wc)']]],
    [
      'ls | tee "$OUT" ~/a b',
      [
        ['', 'ls'],
        ['|', 'tee "$OUT" ~/a b', '~/a', 'b'],
      ],
    ],
    ['echo a\\|b', [['', 'echo a\\|b']]],
    ['echo 1 > $FILE', [['', 'echo 1 > $FILE']]],
  ])('%j', (line, parts) => expect(read(line)).toEqual(parts));

  it.each(['cat <<E | tee a\nx | y\nE', "echo 'open | ls", 'ls # | rm', 'a | | b', '(ls', 'ls)'])(
    'is a single part if the parts are not certain: %j',
    (line) => expect(shellParts(line)).toEqual([{ operator: '', text: line, writes: [] }]),
  );

  it.each(['a|b&&c', ' a ;\n b > c ', 'x 2>err | y &>>z'])('together are the line: %j', (line) =>
    expect(
      shellParts(line)
        .map(({ operator, text }) => operator + text)
        .join(''),
    ).toBe(line),
  );
});

describe('the part that a reason is about', () => {
  it.each([
    ['npm ci && git push', 'npm', 0],
    ['npm ci && git push', 'git', 1],
    ['npm ci && npm test', 'npm', undefined], // only one of them installs packages
    ['cat gitlog && echo x', 'git', undefined],
    ['cat a.md', 'a.md', 0],
    ['cat a.md', '', undefined],
  ])('of %s with %s is %s', (line, operand, part) => {
    expect(partOfOperand(shellParts(line), operand)).toBe(part);
  });
});

it('a reason stands beside the part that it is about, and the others below the line', () => {
  const reason = (rule: string, operand?: string) => ({ rule, why: 'why', ...(operand && { operand }) });
  const reasons = [reason('SHELL'), reason('NPM', 'npm'), reason('GIT', 'push'), reason('WRITE', 'log.txt')];
  const { parts, others } = readShellLine('npm ci && npm test > log.txt && git push', reasons);
  expect(parts.map((part) => part.reasons.map(({ rule }) => rule))).toEqual([[], ['WRITE'], ['GIT']]);
  expect(others.map(({ rule }) => rule)).toEqual(['SHELL', 'NPM']);
  expect(readShellLine('git push', reasons)).toMatchObject({ parts: [{ reasons: [] }], others: reasons });
});
