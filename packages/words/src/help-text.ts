/** What `--help` of one command is put together from. Two spaces stand between what is typed and what it means. */
export interface CommandHelp {
  readonly about: string;
  readonly usage: string;
  readonly notes?: string;
  /** By name: its value, if it takes one, and what it means. */
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

/** Lines of what is typed, two spaces and what it means; the meanings begin in one column. */
function inColumns(lines: readonly string[]): string {
  const parts = lines.map((line) => /^(\S.*?) {2}(.*)$/.exec(line)?.slice(1) ?? [line]);
  const width = Math.max(...parts.map(([typed = '', meaning]) => (meaning === undefined ? 0 : typed.length)));
  return parts
    .map(([typed = '', meaning]) => (meaning === undefined ? typed : `${typed.padEnd(width)}  ${meaning}`))
    .map((line) => `  ${line}`.trimEnd())
    .join('\n');
}
