/** The parts of one command's `--help`. In a line, two spaces separate what is typed from its meaning. */
export interface CommandHelp {
  readonly about: string;
  readonly usage: string;
  readonly notes?: string;
  /** By name: the option's value (if it takes one), two spaces, and its meaning. */
  readonly options?: Readonly<Record<string, string>>;
  readonly end?: string;
}

/** `--help` of a command such as `countersign chat`. */
export function helpText(command: string, help: CommandHelp, optionsTitle: string): string {
  const { about, usage, notes, options, end } = help;
  const listed = Object.entries(options ?? {}).map(([option, meaning]) =>
    meaning.includes('  ') ? `--${option} ${meaning}` : `--${option}  ${meaning}`,
  );
  const sections = [
    `${command}: ${about}`,
    inColumns(usage.split('\n')),
    notes,
    options && `${optionsTitle}\n${inColumns(listed)}`,
    end,
  ];
  return `${sections.filter((section) => section !== undefined).join('\n\n')}\n`;
}

/** Aligns the meanings of all lines in one column. */
function inColumns(lines: readonly string[]): string {
  const parts = lines.map((line) => /^(\S.*?) {2}(.*)$/.exec(line)?.slice(1) ?? [line]);
  const width = Math.max(...parts.map(([typed = '', meaning]) => (meaning === undefined ? 0 : typed.length)));
  return parts
    .map(([typed = '', meaning]) => (meaning === undefined ? typed : `${typed.padEnd(width)}  ${meaning}`))
    .map((line) => `  ${line}`.trimEnd())
    .join('\n');
}
