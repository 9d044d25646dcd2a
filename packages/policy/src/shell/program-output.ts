import { readGit } from '../program/git/git-call.ts';
import {
  DOWNLOADED,
  HIDDEN,
  hasHole,
  hasPattern,
  madeFrom,
  NUMBER,
  originOf,
  STAR,
  UNKNOWN,
  USER_NAME,
  withoutForgedMarks,
} from '../program/marks.ts';
import { readOptions } from '../program/options.ts';
import { contentOf } from './redirections.ts';
import type { ProgramCall, ShellRun } from './shell-run.ts';
import { normalize, resolvePlaces, withoutLast } from './word-paths.ts';

/** Returns the possible outputs of a call; undefined if the output is not known. */
type Printer = (call: ProgramCall) => readonly string[] | undefined;

const lines = (texts: readonly string[]): readonly string[] => [texts.map((text) => `${text}\n`).join('')];

const number = (): readonly string[] => [`${NUMBER}\n`];

const userName: Printer = () => [`${USER_NAME}\n`];

/**
 * Programs whose output depends only on their words. If they print the target of a removal, that target is judged:
 * `rm -rf "$(dirname /x)"`, `ls / | xargs rm -rf`.
 */
const PRINTERS: Readonly<Record<string, Printer>> = {
  whoami: userName,
  logname: userName,
  id: ({ args }) => (args.some((word) => /^-\w*n|^--name/.test(word)) ? [`${USER_NAME}\n`] : undefined),
  printenv: ({ run, args }) =>
    args.flatMap((name) => run.state.variables.get(name)?.values.map((value) => `${value}\n`) ?? []),
  dirname: ({ args }) => lines(readOptions(args).operands.map(directoryOf)),
  basename: ({ args }) => {
    const [path = '', suffix = ''] = readOptions(args, '-s').operands;
    const trimmed = withoutLast(path, '/');
    const name = trimmed.slice(trimmed.lastIndexOf('/') + 1) || (path.startsWith('/') ? '/' : '');
    return [
      `${suffix !== '' && name !== suffix && name.endsWith(suffix) ? name.slice(0, -suffix.length) : name}\n`,
    ];
  },
  realpath: resolved,
  readlink: (call) =>
    call.args.some((word) => /^-\w*[fem]|^--canon/.test(word)) ? resolved(call) : undefined,
  git: ({ run, args: words }) => {
    const { subcommand, args, directories } = readGit(words);
    if (subcommand !== 'rev-parse' || !args.includes('--show-toplevel')) return undefined;
    // the repository may begin in a directory above the workspace; we assume the workspace root
    return directories.length > 0 ? undefined : [`${run.paths.root}\n`];
  },
  ls: listed,
  dir: listed,
  vdir: listed,
  yes: ({ args }) => [`${args.join(' ') || 'y'}\n`],
  command: ({ args }) => lines(args.slice(1).map(programPath)), // -v
  which: ({ args }) => lines(readOptions(args).operands.map(programPath)),
  date: ({ args }) => printedFormat(args.find((word) => word.startsWith('+'))?.slice(1)),
  seq: ({ args }) => printedFormat(readOptions(args, '-f -s').values.get('f')) ?? number(),
  // with operands, `wc` prints their names too
  wc: ({ args }) => (readOptions(args).operands.length === 0 ? number() : undefined),
  nproc: number,
  jq: ({ args }) =>
    args.some((word) => /^-\w*n|^--null-input/.test(word))
      ? [
          `${UNKNOWN}\n`,
          ...args.flatMap((word) => /^"(.*)"$/s.exec(word.trim())?.[1] ?? []).map((text) => `${text}\n`),
        ]
      : undefined,
};

export function outputOf(call: ProgramCall): readonly string[] | undefined {
  const printer = Object.hasOwn(PRINTERS, call.name) ? PRINTERS[call.name] : undefined;
  return printer?.(call);
}

/** The path of a program, as `which` and `command -v` print it. */
export const programPath = (name: string): string =>
  name.includes('/') || hasHole(name) ? name : `/usr/bin/${name}`;

function directoryOf(path: string): string {
  const trimmed = withoutLast(path, '/') || path.slice(0, 1);
  const slash = trimmed.lastIndexOf('/');
  if (slash < 0) return hasHole(trimmed) ? madeFrom(trimmed) : '.';
  return withoutLast(trimmed.slice(0, slash), '/') || '/';
}

function resolved({ run, args }: ProgramCall): readonly string[] {
  const { operands } = readOptions(args);
  const places = operands.flatMap((word) => (word === '' ? [] : resolvePlaces(run, word)));
  return places.length === 0
    ? [`${UNKNOWN}\n`]
    : places.map((place) => `${hasHole(place) ? place : normalize(place)}\n`);
}

/** The output of `ls`: `*` for a directory, the pattern itself for a pattern. */
function listed({ args }: ProgramCall): readonly string[] {
  const { operands, flags } = readOptions(args, '-I -T -w');
  const names =
    operands.length === 0
      ? flags.has('d')
        ? ['.']
        : [STAR]
      : operands.map((word) => (flags.has('d') || hasPattern(word) || hasHole(word) ? word : STAR));
  const isLong = ['l', 's', 'i', 'n', 'o', 'g'].some((letter) => flags.has(letter));
  return lines(names.map((name) => (isLong ? `${UNKNOWN} ${name}` : name)));
}

/** Letters of a format that print digits: `%s` and the like of `date`, `%g` and the like of `seq`. */
const DIGITS = 'sYymdHMSjuwNgfe';

const printedFormat = (format: string | undefined): readonly string[] | undefined =>
  format === undefined
    ? undefined
    : [
        `${format.replace(/%[-+ #0_^]{0,9}[\d.]{0,9}([A-Za-z])/g, (_, kind: string) =>
          DIGITS.includes(kind) ? NUMBER : UNKNOWN,
        )}\n`,
      ];

/** Filters that print lines of their input unchanged. */
const PASSES =
  /^(cat|tee|head|tail|sort|uniq|grep|egrep|fgrep|rg|tac|shuf|pv|sponge|more|less|dd|bat|column|stdbuf|ts|gcat)$/;
/** Filters that change their input. */
const TRANSFORMS =
  /^(rev|tr|sed|gsed|awk|gawk|mawk|nawk|cut|fold|paste|fmt|join|jq|yq|perl|python\d?|iconv|expand|unexpand|nl|pr|m4|envsubst|bc|dc|od|hexdump)$/;

/** Contents that a call reads: of files that this line wrote, and of standard input. */
export function inputsOf({ run, args }: ProgramCall): readonly string[] {
  return [...fileInputs(run, readOptions(args).operands), ...(run.stdin ?? [])];
}

const fileInputs = (run: ShellRun, operands: readonly string[]): readonly string[] =>
  operands
    .map((word) => contentOf(run, word.startsWith('if=') ? word.slice(3) : word))
    .filter((content) => content !== UNKNOWN);

/** Returns the possible outputs of a program, derived from its standard input and the files that this line wrote. */
export function filterOutput({ run, name, args }: ProgramCall): readonly string[] {
  const operands = readOptions(args).operands;
  const files = fileInputs(run, operands);
  const input = [...files, ...(run.stdin ?? [])];
  if (isDecoder(name, args)) return [originOf(input.join('')) || HIDDEN];
  if (PASSES.test(name)) {
    const cuts = args.some((word) => /^-\w*c|^--bytes|^(skip|bs|count)=/.test(word)) && name !== 'cat';
    const written =
      name === 'dd'
        ? operands.filter((word) => word.startsWith('of=')).map((word) => word.slice(3))
        : name === 'tee' || name === 'sponge'
          ? operands
          : [];
    for (const word of written)
      for (const place of resolvePlaces(run, word)) run.state.writeFile(place, input.join('\n'));
    const readsUnknown = operands.length > files.length && /^(cat|bat|gcat)$/.test(name);
    if (input.length > 0 && !cuts) return readsUnknown ? [...input, UNKNOWN + input.join('\n')] : input;
    if (input.length === 0) return [UNKNOWN];
  }
  const isKnown =
    input.length > 0 && input.every((text) => text !== '' && !hasHole(text) && !hasPattern(text));
  if (isKnown && (TRANSFORMS.test(name) || PASSES.test(name))) return [HIDDEN];
  // the filter may print names from a listing unchanged
  const names = TRANSFORMS.test(name) ? input.filter((text) => hasPattern(text) && !hasHole(text)) : [];
  const fetched = args.some((word) => /^(https?|ftps?|wss?|s3|gs):\/\//.test(word)) ? [DOWNLOADED] : [];
  return [madeFrom(...input, ...fetched), ...names];
}

function isDecoder(name: string, args: readonly string[]): boolean {
  if (/^(base64|base32|base58|basenc|gbase64)$/.test(name))
    return args.some((word) => /^-\w*[dD]|^--d/.test(word));
  if (name === 'xxd') return args.some((word) => /^-\w*r/.test(word));
  if (name === 'openssl') return args.some((word) => /^-(d|A|a|base64)$/.test(word)) || args[0] === 'base64';
  return /^(uudecode|gpg|age|rot13|ccrypt|mcrypt|steghide|qrencode|zbarimg)$/.test(name);
}

export function echoOutput(words: readonly string[]): string {
  let first = 0;
  let escapes = false;
  let newline = true;
  for (; first < words.length; first++) {
    const word = words[first] as string;
    if (!/^-[neE]+$/.test(word)) break;
    if (word.includes('n')) newline = false;
    if (word.includes('e')) escapes = true;
    if (word.includes('E')) escapes = false;
  }
  const text = words.slice(first).join(' ');
  return (escapes ? unescaped(text) : text) + (newline ? '\n' : '');
}

/** The output of `printf`, which repeats the format until all words are used. */
export function printfOutput(words: readonly string[]): string {
  const [format = '', ...values] = words[0] === '--' ? words.slice(1) : words;
  if (hasHole(format)) return [format, ...values].join('') || UNKNOWN;
  let result = '';
  let next = 0;
  do {
    const before = next;
    result += unescaped(format, (spec) => formatted(spec, values[next++] ?? ''));
    if (next === before) break;
  } while (next < values.length && result.length < 65_536);
  return result;
}

function formatted(spec: string, value: string): string {
  if (hasHole(value)) return value;
  switch (spec.at(-1)) {
    case 's':
    case 'q': {
      const precision = /\.(\d+)/.exec(spec)?.[1];
      return precision === undefined ? value : value.slice(0, Number(precision));
    }
    case 'b':
      return unescaped(value);
    case 'c':
      return value.slice(0, 1);
    case 'd':
    case 'i':
    case 'u':
      return String(integer(value));
    case 'o':
      return padded(spec, integer(value).toString(8));
    case 'x':
      return padded(spec, integer(value).toString(16));
    case 'X':
      return padded(spec, integer(value).toString(16).toUpperCase());
    default:
      return UNKNOWN;
  }
}

function padded(spec: string, digits: string): string {
  const width = Number(/^%0?(\d{1,3})/.exec(spec)?.[1] ?? 0);
  return digits.padStart(width, '0');
}

/** A number in printf's notation: decimal, octal, hexadecimal, or `'c` for the code of a character. */
function integer(value: string): number {
  if (value.startsWith("'") || value.startsWith('"')) return value.codePointAt(1) ?? 0;
  const number = /^0[0-7]+$/.test(value) ? Number.parseInt(value, 8) : Number(value);
  return Number.isSafeInteger(number) ? number : 0;
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\u0007',
  b: '\b',
  f: '\f',
  v: '\v',
  e: '\u001b',
  E: '\u001b',
  '\\': '\\',
  '"': '"',
  "'": "'",
};

/** Replaces the backslash escapes of `echo -e` and `printf`, and each `%…` by `directive` if that is given. */
function unescaped(text: string, directive?: (spec: string) => string): string {
  const pattern =
    /\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|0[0-7]{1,3}|[0-7]{1,3}|c[\s\S]?|[\s\S])|%(?:%|[-+ #0]{0,9}\d{0,9}(?:\.\d{1,9})?[A-Za-z])/g;
  return text.replace(pattern, (whole, sequence: string | undefined) => {
    if (sequence === undefined) return directive ? (whole === '%%' ? '%' : directive(whole)) : whole;
    const kind = sequence[0] as string;
    if (sequence.length > 1 && /[xuU]/.test(kind)) return character(Number.parseInt(sequence.slice(1), 16));
    if (/[0-7]/.test(kind)) return character(Number.parseInt(sequence, 8) & 0xff);
    return ESCAPES[kind] ?? whole;
  });
}

const character = (code: number): string =>
  code > 0x10ffff || (code >= 0xd800 && code < 0xe000)
    ? '\uFFFD'
    : withoutForgedMarks(String.fromCodePoint(code));
