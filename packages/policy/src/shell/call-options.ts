import { hasHole } from './marks.ts';

/** The words of one program call, told apart as most programs do: options, their values, and the rest. */
interface CallOptions {
  /** Short letters and long names that were given, without dashes; abbreviations are as written. */
  readonly flags: ReadonlySet<string>;
  /** The last value of each option. */
  readonly values: ReadonlyMap<string, string>;
  /** Every value of these options, in order: where repeating adds (`perl -e a -e b`), or where it may. */
  readonly every: (...names: readonly string[]) => readonly string[];
  readonly operands: readonly string[];
}

interface OptionShape {
  /** Short options that take a value, as letters. */
  readonly valueLetters?: string;
  /** Short options that take only what is glued to them: `xargs -i{}`. */
  readonly gluedLetters?: string;
  /** Long options that take a value, without dashes. */
  readonly valueNames?: readonly string[];
  /** Stop at the first word that is no option: for programs that run another program. */
  readonly stopEarly?: boolean;
}

export function readOptions(args: readonly string[], shape: OptionShape = {}): CallOptions {
  const flags = new Set<string>();
  const given: [string, string][] = [];
  const operands: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const word = args[i] as string;
    if (word === '--') {
      operands.push(...args.slice(i + 1));
      break;
    }
    if (word.length < 2 || !word.startsWith('-') || hasHole(word[1] as string)) {
      if (shape.stopEarly) {
        operands.push(...args.slice(i));
        break;
      }
      operands.push(word);
    } else if (word.startsWith('--')) {
      const equals = word.indexOf('=');
      const name = equals < 0 ? word.slice(2) : word.slice(2, equals);
      flags.add(name);
      const full = fullName(name, shape.valueNames);
      if (equals >= 0) given.push([full ?? name, word.slice(equals + 1)]);
      else if (full !== undefined) given.push([full, args[++i] ?? '']);
    } else {
      for (let k = 1; k < word.length; k++) {
        const letter = word[k] as string;
        flags.add(letter);
        if (shape.gluedLetters?.includes(letter)) {
          if (k + 1 < word.length) given.push([letter, word.slice(k + 1)]);
          break;
        }
        if (!shape.valueLetters?.includes(letter)) continue;
        given.push([letter, k + 1 < word.length ? word.slice(k + 1) : (args[++i] ?? '')]);
        break;
      }
    }
  }
  const every = (...names: readonly string[]): readonly string[] =>
    given.flatMap(([name, value]) => (names.includes(name) ? [value] : []));
  return { flags, values: new Map(given), every, operands };
}

/** The option that `name` is, or is short for. */
const fullName = (name: string, names: readonly string[] = []): string | undefined =>
  names.includes(name) ? name : names.find((full) => name.length > 2 && full.startsWith(name));

/** Whether a long option was given, abbreviated or not: `--rec` for `--recursive`. */
export function hasLong(options: CallOptions, name: string, shortest: number): boolean {
  for (const flag of options.flags)
    if (flag.length >= shortest && flag.length > 1 && name.startsWith(flag)) return true;
  return false;
}
