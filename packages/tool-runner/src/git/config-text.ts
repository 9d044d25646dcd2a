/** One setting of a git configuration. Each character is one byte (latin1), so that bytes are kept as they are. */
export interface ConfigEntry {
  /** Lower case. */
  readonly section: string;
  /** As written; undefined if the section has none. */
  readonly subsection: string | undefined;
  /** Lower case. */
  readonly name: string;
  readonly value: string;
}

/** Reads the output of `git config --list -z`: `section.sub.name LF value NUL`; a name without a value means true. */
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

/** A configuration file with exactly these settings, whatever bytes their values contain. */
export function writeConfig(entries: readonly ConfigEntry[]): Buffer {
  const lines = entries.map(({ section, subsection, name, value }) => {
    const heading = subsection === undefined ? section : `${section} "${escapeText(subsection)}"`;
    const text = escapeText(value).replaceAll('\n', '\\n').replaceAll('\t', '\\t');
    return `[${heading}]\n\t${name} = "${text}"\n`;
  });
  return Buffer.from(lines.join(''), 'latin1');
}

/** A setting of our own by its key: `core.pager`, `remote.origin.url`. The value is latin1, as above. */
export function setting(key: string, value: string): ConfigEntry {
  const [entry] = parseConfigList(Buffer.from(`${key}\n${value}\0`, 'latin1'));
  return entry as ConfigEntry;
}

/** Text in the form of ConfigEntry: one character for each byte of its UTF-8. */
export const latin1 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

/** The reverse of `latin1`. */
export const utf8 = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('utf8');

const escapeText = (text: string): string => text.replace(/[\\"]/g, '\\$&');
