import type { CommandRule } from './command-rule.ts';
import type { Judgement, PathUse } from './judgement.ts';

/** What an option does, where that matters to the risk. */
export interface OptionRow {
  /** As in the manual, separated by spaces: `-f --file`. */
  readonly names: string;
  /**
   * What its value is: plain text, a path and what is done with it, or something with rules of its own. Without
   * this the option takes no value.
   */
  readonly value?: 'text' | PathUse | ((value: string, judgement: Judgement) => void);
  /** `-` as its value is standard input or output, and no file. */
  readonly stream?: true;
  /** The value may be left out, so it only counts when it is glued on (`-O3`, `--color=auto`). */
  readonly optional?: true;
  /** The rule that the option triggers by being there. */
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

export interface OptionTableSource extends OptionSection {
  /** Further sections; where two name the same option, the later one counts. */
  readonly sections?: readonly OptionSection[];
  /** GNU: a long option may be cut short as long as it is clear. True by default. */
  readonly abbreviations?: boolean;
  /** git: `--no-x` takes back `--x`. */
  readonly negatable?: boolean;
  /** GNU: options may follow operands. True by default. */
  readonly permutes?: boolean;
  /**
   * `anywhere`: digits are options (`grep -5n`). `count`: `-5c` is an old-style count whose letters take no value,
   * so `tail -5c /etc/hosts` names a file.
   */
  readonly numbers?: 'anywhere' | 'count';
}

export interface OptionTable {
  readonly short: ReadonlyMap<string, OptionRow>;
  readonly long: ReadonlyMap<string, OptionRow>;
  readonly abbreviations: boolean;
  readonly negatable: boolean;
  readonly permutes: boolean;
  readonly numbers: 'anywhere' | 'count' | undefined;
}

export function optionTable(source: OptionTableSource): OptionTable {
  const short = new Map<string, OptionRow>();
  const long = new Map<string, OptionRow>();
  const add = (row: OptionRow): void => {
    for (const name of row.names.split(' ')) {
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
  return {
    short,
    long,
    abbreviations: source.abbreviations ?? true,
    negatable: source.negatable ?? false,
    permutes: source.permutes ?? true,
    numbers: source.numbers,
  };
}
