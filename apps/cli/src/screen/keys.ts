/** One key press, or a piece of pasted text. */
export interface Key {
  /** The character itself, or `enter`, `escape`, `backspace`, `delete`, `up`, `page-down`, `ctrl-c` and so on. */
  readonly name: string;
  /** The text that it types; empty for other keys. */
  readonly text: string;
  /** True if the key arrived with others: pasted, or typed ahead. It may edit text but never decides (UI-6). */
  readonly together: boolean;
}

const esc = '\u001b';
const pasteBegins = `${esc}[200~`;
const pasteEnds = `${esc}[201~`;

/** Decodes terminal input into keys. Keeps an incomplete character or paste until the rest arrives. */
export class KeyDecoder {
  readonly #utf8 = new TextDecoder();
  #pasted: string | undefined;

  push(chunk: Uint8Array): Key[] {
    const found: Omit<Key, 'together'>[] = [];
    let wasPasted = this.#pasted !== undefined;
    let rest = this.#utf8.decode(chunk, { stream: true });
    while (rest !== '') {
      if (this.#pasted !== undefined) {
        wasPasted = true;
        const end = rest.indexOf(pasteEnds);
        this.#pasted += end < 0 ? rest : rest.slice(0, end);
        if (end < 0) break;
        found.push({ name: 'paste', text: this.#pasted.replaceAll('\r\n', '\n').replaceAll('\r', '\n') });
        this.#pasted = undefined;
        rest = rest.slice(end + pasteEnds.length);
      } else if (rest.startsWith(pasteBegins)) {
        this.#pasted = '';
        rest = rest.slice(pasteBegins.length);
      } else {
        const [length, key] = firstKey(rest);
        found.push(key);
        rest = rest.slice(length);
      }
    }
    const together = wasPasted || found.length > 1;
    return found.map((key) => ({ ...key, together }));
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: this is what a terminal sends
const sequence = /^\u001b(?:\[[0-9;?]*[A-Za-z~]|O[A-Za-z])/;

/** Keys by the sequence after ESC. Some terminals send `ESC O A` instead of `ESC [ A`. */
const sequences: Readonly<Record<string, string>> = {
  '[A': 'up',
  '[B': 'down',
  '[C': 'right',
  '[D': 'left',
  '[H': 'home',
  '[F': 'end',
  '[Z': 'shift-tab',
  '[1~': 'home',
  '[3~': 'delete',
  '[4~': 'end',
  '[5~': 'page-up',
  '[6~': 'page-down',
};

function firstKey(text: string): [number, Omit<Key, 'together'>] {
  const [whole] = sequence.exec(text) ?? [];
  if (whole !== undefined) {
    return [whole.length, { name: sequences[whole.slice(1).replace(/^O/, '[')] ?? 'other', text: '' }];
  }
  const character = String.fromCodePoint(text.codePointAt(0) as number);
  return [character.length, { name: nameOf(character), text: isTyped(character) ? character : '' }];
}

const isTyped = (character: string): boolean => character >= ' ' && character !== '\u007f';

function nameOf(character: string): string {
  switch (character) {
    case '\r':
    case '\n':
      return 'enter';
    case '\t':
      return 'tab';
    case esc:
      return 'escape';
    case '\b':
    case '\u007f':
      return 'backspace';
    default:
      return character < ' ' ? `ctrl-${String.fromCharCode(character.charCodeAt(0) + 96)}` : character;
  }
}
