import { hasHole } from './marks.ts';
import type { Notes, PathUse } from './notes.ts';
import type { CommandRule } from './rules.ts';

/** One option of a program, in all its spellings. */
export interface OptionRow {
  /** As in the program's manual, separated by spaces: `-f --file`. */
  readonly names: string;
  /**
   * What its value is: plain text, a path and what is done with it, or something with rules of its own. Without
   * this the option takes no value.
   */
  readonly value?: 'text' | PathUse | ((value: string, notes: Notes) => void);
  /** The value `-` is standard input or output, not a file. */
  readonly stream?: true;
  /** The value may be left out, so it only counts when it is glued on (`-O3`, `--color=auto`). */
  readonly optional?: true;
  /** A rule that the option always triggers. */
  readonly rule?: CommandRule;
}

/** A list of options, as one section of a manual gives it. */
export interface OptionSection {
  /** Options without effect on the risk: without value, with one, with an optional glued one. */
  readonly flags?: string;
  readonly values?: string;
  readonly optionalValues?: string;
  readonly rows?: readonly OptionRow[];
}

interface OptionGrammar {
  /** GNU: a long option may be abbreviated if that is unambiguous. True by default. */
  readonly abbreviations?: boolean;
  /** git: `--no-x` negates `--x`. */
  readonly negatable?: boolean;
  /** GNU: options may follow operands. True by default; false for programs that run another program. */
  readonly permutes?: boolean;
  /**
   * `anywhere`: digits are options (`grep -5n`). `count`: `-5c` is an old-style count whose letters take no value,
   * so `tail -5c /etc/hosts` names a file.
   */
  readonly numbers?: 'anywhere' | 'count';
  /**
   * For a program without a manual, in shell lines: the table lists only options that take a value. Any other option counts
   * as a flag, and an abbreviation means the first option that it fits.
   */
  readonly loose?: boolean;
}

interface OptionTableSource extends OptionSection, OptionGrammar {
  /** Further sections. If two list the same option, the later one counts. */
  readonly sections?: readonly OptionSection[];
}

export interface OptionTable extends OptionGrammar {
  readonly short: ReadonlyMap<string, OptionRow>;
  readonly long: ReadonlyMap<string, OptionRow>;
}

export function optionTable(source: OptionTableSource): OptionTable {
  const short = new Map<string, OptionRow>();
  const long = new Map<string, OptionRow>();
  const add = (row: OptionRow): void => {
    for (const name of row.names.split(/\s+/)) {
      if (name.startsWith('--')) long.set(name.slice(2), row);
      else if (name !== '') short.set(name.slice(1), row);
    }
  };
  const addPlain = (names: string | undefined, shape: Omit<OptionRow, 'names'>): void => {
    for (const name of names?.split(/\s+/) ?? []) if (name !== '') add({ names: name, ...shape });
  };
  for (const section of [source, ...(source.sections ?? [])]) {
    addPlain(section.flags, {});
    addPlain(section.values, { value: 'text' });
    addPlain(section.optionalValues, { value: 'text', optional: true });
    for (const row of section.rows ?? []) add(row);
  }
  return { abbreviations: true, permutes: true, ...source, short, long };
}

/** One option of a command line. */
export type OptionWord =
  | {
      readonly kind: 'option';
      readonly row: OptionRow;
      readonly spelled: string;
      readonly value: string | undefined;
    }
  | {
      /** `--no-x`: negates every option that it can mean, if that was given before. */
      readonly kind: 'negation';
      readonly rows: readonly OptionRow[];
      readonly spelled: string;
      readonly value: string | undefined;
    }
  | { readonly kind: 'unknown'; readonly spelled: string; readonly value: string | undefined };

export type Word = OptionWord | Operand;

export interface Operand {
  readonly kind: 'operand';
  readonly text: string;
  readonly afterDashes: boolean;
}

/**
 * Reads arguments as getopt_long does: bundled short options, glued and separate values, `--name=value`, clear
 * abbreviations, `--`. A word that is not understood becomes `unknown`; the words after it are still read, so that a wrong
 * guess about one option hides no other.
 */
export function parseOptions(args: readonly string[], table: OptionTable): Word[] {
  const words: Word[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] as string;
    if (arg === '--') {
      for (const text of args.slice(i + 1)) words.push({ kind: 'operand', text, afterDashes: true });
      break;
    }
    if (arg.startsWith('--')) {
      if (readLong(arg, args[i + 1], table, words)) i++;
    } else if (arg.startsWith('-') && arg !== '-' && !hasHole(arg[1] as string)) {
      if (readShort(arg, args[i + 1], table, words)) i++;
    } else {
      words.push({ kind: 'operand', text: arg, afterDashes: false });
      if (!table.permutes) {
        for (const text of args.slice(i + 1)) words.push({ kind: 'operand', text, afterDashes: false });
        break;
      }
    }
  }
  return words;
}

/** Returns whether `next` was taken as the value. */
function readLong(arg: string, next: string | undefined, table: OptionTable, words: Word[]): boolean {
  const equals = arg.indexOf('=');
  const name = equals < 0 ? arg.slice(2) : arg.slice(2, equals);
  const glued = equals < 0 ? undefined : arg.slice(equals + 1);
  const rows = findLong(name, table);
  const [row] = rows;
  const negated = row === undefined ? findNegated(name, table) : [];
  if (negated.length > 0) {
    words.push({ kind: 'negation', rows: negated, spelled: arg, value: glued });
    return false;
  }
  if (row === undefined || rows.length > 1) {
    // The program would call several rows ambiguous, but another version may not. Every meaning counts.
    words.push({ kind: 'unknown', spelled: arg, value: glued });
    for (const each of rows) words.push({ kind: 'option', row: each, spelled: arg, value: glued });
    return false;
  }
  const takesNext = row.value !== undefined && !row.optional && glued === undefined && next !== undefined;
  words.push({ kind: 'option', row, spelled: arg, value: takesNext ? next : glued });
  return takesNext;
}

/** All rows that `name` negates: `--no-x` negates `--x`, and `--x` negates a `--no-x` that is listed alone. */
function findNegated(name: string, table: OptionTable): readonly OptionRow[] {
  if (!table.negatable) return [];
  const positive = table.long.get(`no-${name}`);
  if (positive) return [positive];
  if (!name.startsWith('no-') || name === 'no-') return [];
  const undone = name.slice(3);
  const exact = table.long.get(undone);
  if (exact) return [exact];
  return [...table.long].flatMap(([full, row]) => (full.startsWith(undone) ? [row] : []));
}

/** All rows that `name` can mean: the exact one, or every one it abbreviates. */
function findLong(name: string, table: OptionTable): readonly OptionRow[] {
  const exact = table.long.get(name);
  if (exact) return [exact];
  if (table.loose) {
    for (const [full, row] of table.long) if (name.length > 2 && full.startsWith(name)) return [row];
    return [{ names: `--${name}`, value: 'text', optional: true }];
  }
  if (!table.abbreviations || name === '' || findNegated(name, table).length > 0) return [];
  // `--no` can negate anything.
  if (table.negatable && 'no-'.startsWith(name)) return [];
  const found = new Set<OptionRow>();
  let harmless: OptionRow | undefined;
  for (const [full, row] of table.long) {
    if (!full.startsWith(name)) continue;
    // Several harmless options of the same shape become one nameless row: the word is understood, but none of them counts
    // as given, because it is not clear which one is meant.
    if (row.rule === undefined && (row.value === undefined || row.value === 'text')) {
      if (harmless && harmless.value === row.value && harmless.optional === row.optional) {
        if (harmless !== row) {
          found.delete(harmless);
          harmless = { ...harmless, names: `--${name}` };
          found.add(harmless);
        }
        continue;
      }
      harmless ??= row;
    }
    found.add(row);
  }
  return [...found];
}

/** Returns whether `next` was taken as the value. */
function readShort(arg: string, next: string | undefined, table: OptionTable, words: Word[]): boolean {
  const isCount = table.numbers === 'count' && isDigit(arg[1]);
  let isUnknown = false;
  for (let at = 1; at < arg.length; at++) {
    const letter = arg[at] as string;
    if (table.numbers !== undefined && isDigit(letter)) continue;
    const row = table.short.get(letter) ?? (table.loose ? { names: `-${letter}` } : undefined);
    if (row === undefined) {
      // Report an unknown word once; the letters after the unknown one still count.
      if (!isUnknown && !(isCount && countSuffixes.includes(letter))) {
        words.push({ kind: 'unknown', spelled: arg, value: arg.slice(at + 1) });
        isUnknown = true;
      }
      continue;
    }
    if (row.value === undefined || isCount) {
      words.push({ kind: 'option', row, spelled: arg, value: undefined });
      continue;
    }
    const glued = at + 1 < arg.length ? arg.slice(at + 1) : undefined;
    const takesNext = glued === undefined && !row.optional && next !== undefined;
    words.push({ kind: 'option', row, spelled: arg, value: takesNext ? next : glued });
    return takesNext;
  }
  return false;
}

/** Units of an old-style count: `head -5k`, `tail -3l`. */
const countSuffixes = 'bklmEGPTYZRQ';
const isDigit = (character = ''): boolean => /^\d$/.test(character);

/** The words of one program call as most programs read them: options, their values, and operands. */
interface CallOptions {
  /** Short letters and long names that were given, without dashes; abbreviations are not expanded. */
  readonly flags: ReadonlySet<string>;
  /** The last value of each option. */
  readonly values: ReadonlyMap<string, string>;
  /** Every value of these options, in order: for options that may be repeated (`perl -e a -e b`). */
  readonly every: (...names: readonly string[]) => readonly string[];
  readonly operands: readonly string[];
}

interface LooseGrammar {
  /** Options that take a value only if it is glued to them: `xargs -i{}`. */
  readonly optionalValues?: string;
  readonly permutes?: false;
}

/** Cache of tables, by the lists that they were made from. */
const looseTables = new Map<string, OptionTable>();

function looseTable(values: string, { optionalValues = '', permutes }: LooseGrammar): OptionTable {
  const key = `${values};${optionalValues};${permutes}`;
  const table =
    looseTables.get(key) ?? optionTable({ values, optionalValues, permutes: permutes ?? true, loose: true });
  looseTables.set(key, table);
  return table;
}

/** Reads the words of any program; `values` lists those of its options that take a value: `-o --output`. */
export function readOptions(args: readonly string[], values = '', grammar: LooseGrammar = {}): CallOptions {
  const flags = new Set<string>();
  const given: [string, string][] = [];
  const operands: string[] = [];
  for (const word of parseOptions(args, looseTable(values, grammar))) {
    if (word.kind === 'operand') operands.push(word.text);
    if (word.kind !== 'option') continue;
    const { row, spelled } = word;
    const name = row.names.replace(/^--?/, '');
    flags.add(spelled.startsWith('--') ? (spelled.slice(2).split('=', 1)[0] as string) : name);
    const value = word.value ?? (row.value !== undefined && !row.optional ? '' : undefined);
    if (value !== undefined) given.push([name, value]);
  }
  const every = (...names: readonly string[]): readonly string[] =>
    given.flatMap(([name, value]) => (names.includes(name) ? [value] : []));
  return { flags, values: new Map(given), every, operands };
}

/** The options of a list as `readOptions` names them: `-c --command` → c, command. */
export const namesOf = (options: string): readonly string[] =>
  options.split(' ').map((option) => option.replace(/^--?/, ''));

/** Whether a long option was given, abbreviated or not: `--rec` for `--recursive`. */
export function hasLong(options: CallOptions, name: string, shortest: number): boolean {
  for (const flag of options.flags)
    if (flag.length >= shortest && flag.length > 1 && name.startsWith(flag)) return true;
  return false;
}

/** The shortest abbreviation of a long option that counts. A shorter one could mean many options. */
const SHORTEST_ABBREVIATION = '--xy'.length;

/**
 * Every value that the line gives to one of `options` (with dashes), whatever the words around it mean. The value may be the
 * next word, follow a `=`, or be glued to a short option.
 */
export function valuesAnywhere(
  args: readonly string[],
  options: readonly string[],
  { abbreviations = false } = {},
): readonly string[] {
  return args.flatMap((word, index) => {
    const next = args[index + 1];
    const equals = word.indexOf('=');
    const name = equals < 0 ? word : word.slice(0, equals);
    for (const option of options) {
      if (word === option) return next ?? [];
      if (word.startsWith(`${option}=`)) return word.slice(option.length + 1);
      if (abbreviations && name.length >= SHORTEST_ABBREVIATION && option.startsWith(name))
        return equals < 0 ? (next ?? []) : word.slice(equals + 1);
      if (!option.startsWith('--') && word.startsWith(option)) return word.slice(option.length);
    }
    return [];
  });
}

/**
 * Which options of one call are in force. A later word can negate an option, and a word after that can give it again, so
 * a manual asks in one of two ways:
 *
 * - `isOn`, for an option that makes a call less risky: it must still be in force at the end of the line;
 * - `wasGiven`, for an option that makes a call riskier: once is enough, even if the line negates it later.
 */
export class OptionState {
  readonly #words: readonly Word[];

  constructor(words: readonly Word[]) {
    this.#words = words;
  }

  /**
   * Whether the last word about any of `names` gives one of them. All names are one setting: `--no-list` also negates `-l`.
   * `among` lists other values of the same setting, which replace these.
   */
  isOn(names: readonly string[], among: readonly string[] = []): boolean {
    let on = false;
    for (const word of this.#words) {
      if (word.kind === 'negation') {
        if (word.rows.some((row) => hasName(row.names, names) || hasName(row.names, among))) on = false;
      } else if (word.kind === 'option') {
        if (hasName(word.row.names, names)) on = true;
        else if (hasName(word.row.names, among) || negates(word.row.names, names)) on = false;
      }
    }
    return on;
  }

  wasGiven(...names: readonly string[]): boolean {
    return this.#words.some((word) => word.kind === 'option' && hasName(word.row.names, names));
  }

  /** Every value of this option: versions of a program disagree on which one counts. */
  valuesOf(name: string): readonly string[] {
    return this.#words.flatMap((word) =>
      word.kind === 'option' && word.value !== undefined && hasName(word.row.names, [name])
        ? [word.value]
        : [],
    );
  }
}

const hasName = (rowNames: string, names: readonly string[]): boolean =>
  rowNames.split(/\s+/).some((name) => names.includes(name));

/** A table may list `--x` and `--no-x` as two options. */
const negates = (rowNames: string, names: readonly string[]): boolean =>
  rowNames
    .split(/\s+/)
    .some((name) => name.startsWith('--no-') && names.includes(`--${name.slice('--no-'.length)}`));
