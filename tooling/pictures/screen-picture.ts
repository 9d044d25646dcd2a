/** The sixteen colours of a terminal. */
const colors = [
  ...['#1b1f2a', '#f07178', '#a6d189', '#e5c07b', '#82aaff', '#c792ea', '#7fd1d8', '#d5d9e2'],
  ...['#5c6370', '#ff8b92', '#c3e88d', '#ffd580', '#9cc4ff', '#ddb6f2', '#a3e4e9', '#ffffff'],
];
const foreground = '#d5d9e2';
const background = '#1b1f2a';
const cellWidth = 8.43;
const lineHeight = 19;

interface Style {
  readonly foreground?: string | undefined;
  readonly background?: string | undefined;
  readonly bold?: boolean;
  readonly dim?: boolean;
  readonly inverse?: boolean;
}

/** Draws a terminal screen (text with escape sequences) as SVG. Every character takes one cell. */
export function drawScreen(screen: string, title: string): string {
  const lines = screen.trimEnd().split('\n');
  const boxes: string[] = [];
  const texts: string[] = [];
  let style: Style = {};
  let columns = 0;
  for (const [row, line] of lines.entries()) {
    const y = 16 + row * lineHeight;
    let column = 0;
    // Splitting by style sequences leaves their codes at the odd indexes.
    for (const [i, part] of line.split(styleSequence).entries()) {
      if (i % 2 === 1) style = applyCodes(style, part.split(';').map(Number));
      else if (part !== '') {
        const length = [...part].length;
        const at = `x="${(16 + column * cellWidth).toFixed(1)}"`;
        const width = (length * cellWidth).toFixed(1);
        const [ink = foreground, paper] = style.inverse
          ? [style.background ?? background, style.foreground ?? foreground]
          : [style.foreground, style.background];
        if (paper)
          boxes.push(`<rect ${at} y="${y}" width="${width}" height="${lineHeight}" fill="${paper}"/>`);
        const look = `fill="${ink}"${style.bold ? ' font-weight="bold"' : ''}${style.dim ? ' opacity="0.6"' : ''}`;
        const fit = `textLength="${width}" lengthAdjust="spacingAndGlyphs"`;
        if (part.trim() !== '')
          texts.push(`<text ${at} y="${y + 14}" ${fit} ${look}>${escapeMarkup(part)}</text>`);
        column += length;
      }
    }
    columns = Math.max(columns, column);
  }
  const size = `width="${Math.ceil(32 + columns * cellWidth)}" height="${32 + lines.length * lineHeight}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" xml:space="preserve">
<style>text { white-space: pre }</style>
<title>${escapeMarkup(title)}</title>
<rect width="100%" height="100%" rx="10" fill="${background}"/>
${[...boxes, ...texts].join('\n')}
</svg>
`;
}

const styleSequence = new RegExp(`${String.fromCharCode(27)}\\[([\\d;]*)m`);

function applyCodes(before: Style, codes: readonly number[]): Style {
  let style = before;
  for (let i = 0; i < codes.length; i += 1) {
    const code = codes[i] ?? 0;
    const base = code % 10;
    if (code === 0) style = {};
    else if (code === 1) style = { ...style, bold: true };
    else if (code === 2) style = { ...style, dim: true };
    else if (code === 7) style = { ...style, inverse: true };
    else if (code === 22) style = { ...style, bold: false, dim: false };
    else if (code === 27) style = { ...style, inverse: false };
    else if (code === 38 || code === 48) {
      // 38;5;N and 48;5;N choose one of 256 colours.
      const color = colorOf(codes[i + 2] ?? 0);
      style = code === 38 ? { ...style, foreground: color } : { ...style, background: color };
      i += 2;
    } else if (code === 39) style = { ...style, foreground: undefined };
    else if (code === 49) style = { ...style, background: undefined };
    else if (code >= 30 && code <= 37) style = { ...style, foreground: colors[base] };
    else if (code >= 40 && code <= 47) style = { ...style, background: colors[base] };
    else if (code >= 90 && code <= 97) style = { ...style, foreground: colors[8 + base] };
    else if (code >= 100 && code <= 107) style = { ...style, background: colors[8 + base] };
  }
  return style;
}

/** A colour of the 256: the sixteen above, a cube of 6 × 6 × 6, and 24 greys. */
function colorOf(number: number): string {
  if (number < 16) return colors[number] ?? foreground;
  const hex = (...levels: number[]) =>
    `#${levels.map((level) => level.toString(16).padStart(2, '0')).join('')}`;
  const grey = 8 + 10 * (number - 232);
  if (number >= 232) return hex(grey, grey, grey);
  const level = (step: number) => (step === 0 ? 0 : 55 + 40 * step);
  const inCube = number - 16;
  return hex(level(Math.floor(inCube / 36)), level(Math.floor(inCube / 6) % 6), level(inCube % 6));
}

const escapeMarkup = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
