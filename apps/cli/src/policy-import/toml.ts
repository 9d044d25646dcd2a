import { parse, TomlError } from 'smol-toml';
import { unreadable } from './foreign-rule.ts';

/** The tables of a TOML file. IMPORT_UNREADABLE if it is not one. */
export function parseToml(text: string, file: string): Readonly<Record<string, unknown>> {
  try {
    return parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // The rest of the message quotes lines of the file: leave them out.
    const [problem = ''] = error.message.replace(/^Invalid TOML document: /, '').split('\n');
    throw unreadable(file, `line ${error.line}: ${problem}`);
  }
}
