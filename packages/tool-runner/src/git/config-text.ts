/** One setting of a git configuration. Bytes are kept as they are: each character is one byte (latin1). */
export interface ConfigEntry {
  /** Lower case. */
  readonly section: string;
  /** As written; undefined where the section has none. */
  readonly subsection: string | undefined;
  /** Lower case. */
  readonly name: string;
  readonly value: string;
}

/** Reads what `git config --list -z` prints: `section.sub.name LF value NUL`; a name alone is true. */
export function parseConfigList(output: Buffer): ConfigEntry[] {
  return output
    .toString('latin1')
    .split('\0')
    .filter((record) => record !== '')
    .map((record) => {
      const lineEnd = record.indexOf('\n');
      const key = lineEnd < 0 ? record : record.slice(0, lineEnd);
      const first = key.indexOf('.');
      const last = key.lastIndexOf('.');
      return {
        section: key.slice(0, first),
        subsection: first === last ? undefined : key.slice(first + 1, last),
        name: key.slice(last + 1),
        value: lineEnd < 0 ? 'true' : record.slice(lineEnd + 1),
      };
    });
}

/** A configuration file that says exactly these settings, whatever stands in their values. */
export function writeConfig(entries: readonly ConfigEntry[]): Buffer {
  const lines = entries.map(({ section, subsection, name, value }) => {
    const heading = subsection === undefined ? section : `${section} "${escapeText(subsection)}"`;
    const text = escapeText(value).replaceAll('\n', '\\n').replaceAll('\t', '\\t');
    return `[${heading}]\n\t${name} = "${text}"\n`;
  });
  return Buffer.from(lines.join(''), 'latin1');
}

/** A setting of our own, written as git writes it: `core.pager`, `remote.origin.url`. The value is bytes, as above. */
export function setting(key: string, value: string): ConfigEntry {
  const [entry] = parseConfigList(Buffer.from(`${key}\n${value}\0`, 'latin1'));
  return entry as ConfigEntry;
}

const escapeText = (text: string): string => text.replace(/[\\"]/g, '\\$&');
