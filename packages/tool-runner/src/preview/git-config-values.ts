/** One `name = value` of a git configuration, whatever subsection it stands in. Section and name in lower case. */
interface ConfigValue {
  readonly section: string;
  readonly name: string;
  readonly value: string;
}

const header = /\[\s*([A-Za-z0-9.-]+)(?:\s+"(?:[^"\\\n]|\\.)*")?\s*\]/y;
const nameAndEquals = /([A-Za-z][A-Za-z0-9-]*)[ \t]*(=[ \t]*)?/y;
/** Up to the end of the line or a comment: in quotes, escaped (also the end of the line), or plain. */
const rawValue = /(?:"(?:[^"\\\n]|\\[\s\S])*"|\\\r?\n|\\.|[^"\\#;\n])*/y;
const blank = /\s+/y;
const restOfLine = /[^\n]*/y;

/**
 * Reads the text of a git configuration as git does: several settings may stand in one line with their section, values
 * may be quoted in part, go on in the next line and have a comment behind them. What git would call an error is passed
 * over. For what git itself must believe there is GitRepository, which asks git; this is for the digest (AP-8).
 */
export function readConfigValues(text: string): ConfigValue[] {
  const values: ConfigValue[] = [];
  let section = '';
  let at = text.startsWith('\ufeff') ? 1 : 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found;
  };
  while (at < text.length) {
    if (take(blank)) continue;
    const heading = take(header);
    if (heading) {
      section = (heading[1] ?? '').split('.', 1)[0]?.toLowerCase() ?? '';
      continue;
    }
    const named = take(nameAndEquals);
    if (named?.[2] !== undefined) {
      const value = plain(take(rawValue)?.[0] ?? '');
      values.push({ section, name: (named[1] ?? '').toLowerCase(), value });
    }
    take(restOfLine); // a comment, or nothing that we know
  }
  return values;
}

/** Without quotes, escapes, and the blanks behind it that are not quoted. */
function plain(raw: string): string {
  const escaped: Readonly<Record<string, string>> = { n: '\n', t: '\t', b: '\b', '\n': '', '\r\n': '' };
  return raw
    .trimEnd()
    .replace(/\\(\r\n|[\s\S])|"/g, (whole, character?: string) =>
      character === undefined ? whole.replace('"', '') : (escaped[character] ?? character),
    );
}
