import type { OptionRow, OptionTable } from './option-table.ts';

/** One thing on a command line, in the order in which the program meets it. */
export type Word =
  | {
      readonly kind: 'option';
      readonly row: OptionRow;
      readonly spelled: string;
      readonly value: string | undefined;
    }
  | {
      /** `--no-x`: takes back every option that it can mean. What stands before it counts no longer. */
      readonly kind: 'negation';
      readonly rows: readonly OptionRow[];
      readonly spelled: string;
      readonly value: string | undefined;
    }
  | { readonly kind: 'unknown'; readonly spelled: string; readonly value: string | undefined }
  | { readonly kind: 'operand'; readonly text: string; readonly afterDashes: boolean };

/**
 * Reads arguments as getopt_long does: bundled short options, glued and separate values, `--name=value`, clear
 * abbreviations, `--`. A word that is not understood becomes `unknown`; what follows it is still looked at, so
 * that a wrong guess about one option hides no other.
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
    } else if (arg.startsWith('-') && arg !== '-') {
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
  if (row === undefined) {
    words.push({ kind: 'unknown', spelled: arg, value: glued });
    return false;
  }
  if (rows.length > 1) {
    // The program would call this ambiguous; another version of it may not. Whatever it could mean counts.
    words.push({ kind: 'unknown', spelled: arg, value: glued });
    for (const each of rows) words.push({ kind: 'option', row: each, spelled: arg, value: glued });
    return false;
  }
  const takesNext = row.value !== undefined && !row.optional && glued === undefined && next !== undefined;
  words.push({ kind: 'option', row, spelled: arg, value: takesNext ? next : glued });
  return takesNext;
}

/** All rows that `name` takes back: `--no-x` takes back `--x`, and `--x` takes back a `--no-x` that is listed alone. */
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
  if (!table.abbreviations || name === '' || findNegated(name, table).length > 0) return [];
  // `--no` can take back anything.
  if (table.negatable && 'no-'.startsWith(name)) return [];
  const found = new Set<OptionRow>();
  let harmless: OptionRow | undefined;
  for (const [full, row] of table.long) {
    if (!full.startsWith(name)) continue;
    // Several harmless flags of one shape are the same to us. None of them counts as given: it is not clear which.
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
    if (table.numbers !== undefined && isDigit(letter)) {
      continue;
    }
    const row = table.short.get(letter);
    if (row === undefined) {
      // Once is enough to know that the word is not understood; the letters after it still count.
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
const isDigit = (character: string | undefined): boolean =>
  character !== undefined && character >= '0' && character <= '9';
