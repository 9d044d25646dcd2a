/** The colours of a terminal. A front end maps them to its own theme, so that no text is invisible. */
export type AnsiColor = (typeof colors)[number] | `bright-${(typeof colors)[number]}`;

const colors = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const;

export interface TextStyle {
  readonly color?: AnsiColor | undefined;
  readonly bold?: boolean;
  readonly dim?: boolean;
  readonly italic?: boolean;
  readonly underline?: boolean;
}

/** A piece of a line in one style. Its text may hold control characters: the front end makes them visible. */
export interface StyledText {
  readonly text: string;
  readonly style: TextStyle;
}

/** One line of a command's output. */
export type StyledLine = readonly StyledText[];

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with this character
const styleSequence = /\u001b\[([\d;]*)m/g;

/**
 * The lines of a command's output with their colours. Sequences that only style text are applied; all others stay in the
 * text, where the person sees them (UI-6). A carriage return starts the line again, as progress bars do. Backgrounds and
 * hidden text are ignored, so that all text is readable.
 */
export function styledLines(output: string): readonly StyledLine[] {
  let style: TextStyle = {};
  const text = output.endsWith('\n') ? output.slice(0, -1) : output;
  return text.split('\n').map((line) => {
    const pieces: StyledText[] = [];
    const shown = line.replace(/\r+$/, '').split('\r').at(-1) ?? '';
    let from = 0;
    for (const match of shown.matchAll(styleSequence)) {
      if (match.index > from) pieces.push({ text: shown.slice(from, match.index), style });
      style = restyled(style, (match[1] ?? '').split(';').map(Number));
      from = match.index + match[0].length;
    }
    if (from < shown.length) pieces.push({ text: shown.slice(from), style });
    return pieces;
  });
}

function restyled(before: TextStyle, codes: readonly number[]): TextStyle {
  let style = before;
  for (let i = 0; i < codes.length; i += 1) {
    const code = codes[i] ?? 0;
    if (code === 0) style = {};
    else if (code === 1) style = { ...style, bold: true };
    else if (code === 2) style = { ...style, dim: true };
    else if (code === 3) style = { ...style, italic: true };
    else if (code === 4) style = { ...style, underline: true };
    else if (code === 22) style = { ...style, bold: false, dim: false };
    else if (code === 23) style = { ...style, italic: false };
    else if (code === 24) style = { ...style, underline: false };
    else if (code === 39) style = { ...style, color: undefined };
    else if (code >= 30 && code <= 37) style = { ...style, color: colors[code - 30] };
    else if (code >= 90 && code <= 97) style = { ...style, color: brightColor(code - 90) };
    else if (code === 38 || code === 48) {
      const [color, used] = extendedColor(codes.slice(i + 1));
      if (code === 38) style = { ...style, color };
      i += used;
    }
  }
  return style;
}

const brightColor = (index: number): AnsiColor | undefined => {
  const color = colors[index];
  return color && `bright-${color}`;
};

/** The nearest of the sixteen colours for a 256-colour or RGB code, and how many codes it used. */
function extendedColor([kind, ...values]: readonly number[]): [AnsiColor | undefined, number] {
  if (kind === 2) return [nearestColor(values.slice(0, 3)), 4];
  const [index = 0] = values;
  if (index < 8) return [colors[index], 2];
  if (index < 16) return [brightColor(index - 8), 2];
  if (index >= 232) return [index < 244 ? 'bright-black' : 'white', 2];
  const cube = index - 16;
  return [nearestColor([cube / 36, (cube / 6) % 6, cube % 6].map((part) => Math.floor(part) * 51)), 2];
}

/** Each of red, green and blue counts where it is at least half as strong as the strongest. */
function nearestColor(parts: readonly number[]): AnsiColor | undefined {
  const strongest = Math.max(...parts);
  if (strongest < 48) return 'bright-black';
  const index = parts.reduce((sum, part, place) => sum + (part * 2 > strongest ? 2 ** place : 0), 0);
  return strongest > 200 ? brightColor(index) : colors[index];
}
