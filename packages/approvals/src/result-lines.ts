import type { JsonValue, ToolSuccess } from '@countersign/protocol';
import type { CallWords } from '@countersign/words';
import { type StyledLine, styledLines, type TextStyle } from './ansi-text.ts';
import type { FileLines, ResultView } from './result-view.ts';
import type { DiffLine } from './unified-diff.ts';

type GitState = ToolSuccess<'git_status'>['files'][number]['staged'];

/**
 * A result as lines of text, as the program that people know would print it: a listing as `ls`, matches as `rg`, a
 * status as `git status -sb`. A picture has no lines. The text may hold control characters: the front end makes them
 * visible.
 */
export function resultLines(view: ResultView, words: CallWords): readonly StyledLine[] {
  const lines = linesOf(view, words);
  return 'truncated' in view && view.truncated ? [...lines, line([words.more, quiet])] : lines;
}

/** The same lines without their styles. */
export const resultText = (view: ResultView, words: CallWords): string =>
  resultLines(view, words).map(plainText).join('\n');

export const plainText = (styled: StyledLine): string => styled.map(({ text }) => text).join('');

function linesOf(view: ResultView, words: CallWords): readonly StyledLine[] {
  switch (view.kind) {
    case 'terminal':
      return view.output === '' ? [] : styledLines(view.output);
    case 'text':
      return view.text === '' ? [] : withoutLastFeed(view.text).split('\n').map(plain);
    case 'picture':
      return [];
    case 'listing':
      return view.entries.map(({ path, type, size }) =>
        type === 'directory' ? line([`${path}/`, strong]) : line(path, [`  ${sizeText(size)}`, quiet]),
      );
    case 'matches':
      return view.files.flatMap(({ path, matches }) => [
        line([path, strong]),
        ...matches.map((match) => line([`${match.line}:`, { color: 'green' }], match.text)),
      ]);
    case 'diff':
      return view.files.flatMap((file) => fileLines(file, words));
    case 'status':
      return statusLines(view.status);
    case 'commits':
      return view.commits.map(({ id, subject, author, date }) =>
        line([id.slice(0, 8), { color: 'yellow' }], ` ${subject}`, [
          `  ${author}, ${date.slice(0, 10)}`,
          quiet,
        ]),
      );
    case 'branches':
      return view.branches.map(({ name, commit }) =>
        line(name === view.current ? [`* ${name}`, { color: 'green' }] : `  ${name}`, [
          ` ${commit.slice(0, 8)}`,
          quiet,
        ]),
      );
    case 'diagnostics':
      return view.diagnostics.map(({ line: at, col, severity, message, code }) =>
        line(
          `${at}:${col} `,
          [severity, severityStyles[severity] ?? quiet],
          ` ${message}`,
          ...(code === undefined ? [] : [[`  ${code}`, quiet] as const]),
        ),
      );
    case 'symbols':
      return view.symbols.map(({ line: at, kind, name }) =>
        line([`${at}:`, { color: 'green' }], ` ${kind} `, [name, strong]),
      );
    case 'locations':
      return view.locations.map(({ path, line: at, col, text }) =>
        line([`${path}:${at}:${col}`, strong], `  ${text.trim()}`),
      );
    case 'changed':
      return view.files.map(({ path, operation }) =>
        line([`${operationOf(operation, words)} `, quiet], path),
      );
    case 'facts':
      return view.facts.map(([name, value]) => line([`${name}: `, quiet], value));
    case 'json':
      return jsonLines(view.value);
  }
}

function fileLines({ path, operation, lines }: FileLines, words: CallWords): StyledLine[] {
  return [
    line([path, strong], [`  ${operationOf(operation, words)}`, quiet]),
    ...lines.map((diffed) => line([`${signs[diffed.kind]}${diffed.text}`, diffStyles[diffed.kind]])),
  ];
}

/** In the format of `git status -sb`, which needs no translation. */
function statusLines({
  branch,
  head,
  upstream,
  ahead,
  behind,
  files,
}: ToolSuccess<'git_status'>): StyledLine[] {
  const distance = [ahead > 0 ? `+${ahead}` : '', behind > 0 ? `-${behind}` : ''].filter(
    (part) => part !== '',
  );
  const place = `${branch ?? head?.slice(0, 8) ?? 'HEAD'}${upstream === null ? '' : `...${upstream}`}`;
  return [
    line([`## ${place}${distance.length === 0 ? '' : ` [${distance.join(' ')}]`}`, strong]),
    ...files.map(({ path, old_path, staged, unstaged }) => {
      const isUntracked = unstaged === 'untracked';
      return line(
        [isUntracked ? '?' : letterOf(staged), { color: 'green' }],
        [letterOf(unstaged), { color: 'red' }],
        ` ${old_path === undefined ? '' : `${old_path} → `}${path}`,
      );
    }),
  ];
}

/** A flat object as `name: value`, everything else as JSON. Leaves out `success`, which the call's own line shows. */
function jsonLines(value: JsonValue): StyledLine[] {
  if (value === null) return [];
  const entries = typeof value === 'object' && !Array.isArray(value) ? Object.entries(value) : undefined;
  const told = entries?.filter(([name, part]) => !(name === 'success' && part === true) && part !== null);
  if (told?.every(([, part]) => typeof part !== 'object' && !String(part).includes('\n')))
    return told.map(([name, part]) => line([`${name}: `, quiet], String(part)));
  return JSON.stringify(value, null, 2).split('\n').map(plain);
}

type Piece = string | readonly [string, TextStyle];

const line = (...pieces: readonly Piece[]): StyledLine =>
  pieces.map((piece) =>
    typeof piece === 'string' ? { text: piece, style: {} } : { text: piece[0], style: piece[1] },
  );
const plain = (text: string): StyledLine => line(text);

const strong: TextStyle = { bold: true };
const quiet: TextStyle = { dim: true };
const severityStyles: Readonly<Record<string, TextStyle>> = {
  error: { color: 'red' },
  warning: { color: 'yellow' },
};
const diffStyles: Readonly<Record<DiffLine['kind'], TextStyle>> = {
  hunk: { color: 'cyan' },
  note: quiet,
  same: {},
  removed: { color: 'red' },
  added: { color: 'green' },
};
const signs: Readonly<Record<DiffLine['kind'], string>> = {
  hunk: '',
  note: '',
  same: ' ',
  removed: '-',
  added: '+',
};

const letterOf = (state: GitState): string => (state === null ? ' ' : letters[state]);
const letters: Readonly<Record<NonNullable<GitState>, string>> = {
  added: 'A',
  modified: 'M',
  deleted: 'D',
  renamed: 'R',
  copied: 'C',
  untracked: '?',
  ignored: '!',
  conflicted: 'U',
  type_changed: 'T',
};

const operationOf = (operation: string, { operations }: CallWords): string =>
  operations[operation as keyof typeof operations] ?? operation;

/** `812 B`, `1.2 kB`, `34 MB`. */
export const sizeText = (bytes: number): string => {
  if (bytes < 1000) return `${bytes} B`;
  const [value, unit] = bytes < 1_000_000 ? [bytes / 1000, 'kB'] : [bytes / 1_000_000, 'MB'];
  return `${value.toFixed(value < 10 ? 1 : 0)} ${unit}`;
};

const withoutLastFeed = (text: string): string => (text.endsWith('\n') ? text.slice(0, -1) : text);
