import type { StyledLine, StyledText, TextStyle } from '@countersign/approvals';
import { makeVisible } from '@countersign/protocol';
import { marked, type Token, type Tokens } from 'marked';
import { drawStyled, wrapStyled } from '../screen/styled-text.ts';
import { widthOf } from '../screen/text-width.ts';

/** A longer block is shown as plain text: parsing it again with each new line would be slow. */
const maxBlock = 50_000;
const code: TextStyle = { color: 'cyan' };
const quiet: TextStyle = { dim: true };

/** Draws Markdown for a terminal: headings, emphasis, lists, tables, quotes and code. HTML is shown as text (UI-6). */
export const markdownLines = (text: string, columns: number, color: boolean): string[] =>
  blocksOf(parse(text), columns).map((line) => drawStyled(line, color));

/**
 * Draws a message while it is written. A block is returned once the next one has begun, because until then new text
 * may change how it is drawn; it is part of the tail until then.
 */
export class MarkdownStream {
  #pending = '';
  #isFirst = true;

  /** The lines that are complete now. */
  push(lines: readonly string[], columns: number, color: boolean): string[] {
    // Visible already here: the parser's blocks are found again in this text.
    this.#pending += makeVisible(lines.map((line) => `${line}\n`).join(''));
    const tokens = parse(this.#pending).filter(({ type }) => type !== 'space');
    const last = tokens.at(-1);
    if (!last || (tokens.length === 1 && this.#pending.length <= maxBlock)) return [];
    const cut = tokens.length === 1 ? this.#pending.length : this.#pending.lastIndexOf(last.raw);
    if (cut <= 0) return [];
    const done = this.#pending.slice(0, cut);
    this.#pending = this.#pending.slice(cut);
    return this.#draw(done, columns, color);
  }

  /** The rest of a message that has ended. */
  end(columns: number, color: boolean): string[] {
    const rest = this.#pending;
    this.#pending = '';
    const lines = rest.trim() === '' ? [] : this.#draw(rest, columns, color);
    this.#isFirst = true;
    return lines;
  }

  /** What is being written, with the line that is not complete yet. */
  tail(line: string, columns: number, color: boolean): string[] {
    const text = `${this.#pending}${line}`;
    if (text.trim() === '') return [];
    return [...this.#gap, ...markdownLines(text, columns, color)];
  }

  #draw(text: string, columns: number, color: boolean): string[] {
    const lines = [...this.#gap, ...markdownLines(text, columns, color)];
    this.#isFirst = false;
    return lines;
  }

  /** An empty line between two blocks. */
  get #gap(): string[] {
    return this.#isFirst ? [] : [''];
  }
}

function parse(text: string): Token[] {
  const shown = makeVisible(text);
  if (shown.length <= maxBlock) return marked.lexer(shown);
  return [{ type: 'code', raw: shown, text: shown.replace(/\n$/, '') } satisfies Tokens.Code];
}

function blocksOf(tokens: readonly Token[], columns: number, isLoose = true): StyledLine[] {
  return tokens
    .filter(({ type }) => type !== 'space' && type !== 'def' && type !== 'checkbox')
    .flatMap((token, i) => [...(i > 0 && isLoose ? [[]] : []), ...blockOf(token as BlockToken, columns)]);
}

type BlockToken =
  | (Tokens.Heading & { type: 'heading' })
  | (Tokens.List & { type: 'list' })
  | (Tokens.Table & { type: 'table' })
  | (Tokens.Code & { type: 'code' })
  | (Tokens.Blockquote & { type: 'blockquote' })
  | (Tokens.Hr & { type: 'hr' })
  | (Tokens.Paragraph & { type: 'paragraph' });

function blockOf(token: BlockToken, columns: number): StyledLine[] {
  switch (token.type) {
    case 'heading':
      return wrapped(inline(token.tokens, { bold: true, underline: token.depth === 1 }), columns);
    case 'list':
      return token.items.flatMap((item, i) => [
        ...(token.loose && i > 0 ? [[]] : []),
        ...indented(blocksOf(item.tokens, columns - 4, item.loose), markOf(token, item, i)),
      ]);
    case 'table':
      return tableLines(token, columns);
    case 'code':
      return indented(
        token.text.split('\n').flatMap((line) => wrapStyled([{ text: line, style: code }], columns - 2)),
        '  ',
      );
    case 'blockquote':
      return blocksOf(token.tokens, columns - 2).map((line) => [{ text: '│ ', style: quiet }, ...line]);
    case 'hr':
      return [[{ text: '─'.repeat(Math.max(columns, 1)), style: quiet }]];
    default: {
      const { tokens, raw } = token as { tokens?: Token[]; raw: string };
      return wrapped(tokens ? inline(tokens, {}) : [{ text: raw.trimEnd(), style: {} }], columns);
    }
  }
}

function markOf({ ordered, start }: Tokens.List, { task, checked }: Tokens.ListItem, index: number): string {
  if (task) return checked ? '☑ ' : '☐ ';
  return ordered ? `${Number(start) + index}. ` : '• ';
}

/** The first line begins with the mark, the others with its width in spaces. */
const indented = (lines: readonly StyledLine[], mark: string): StyledLine[] =>
  (lines.length === 0 ? [[]] : lines).map((line, i) => [
    { text: i === 0 ? mark : ' '.repeat(mark.length), style: {} },
    ...line,
  ]);

/** The text of inline tokens with its styles; nested emphasis adds up. */
function inline(tokens: readonly Token[] | undefined, style: TextStyle): StyledText[] {
  return (tokens ?? []).flatMap((token): StyledText[] => {
    switch (token.type) {
      case 'strong':
        return inline(token.tokens, { ...style, bold: true });
      case 'em':
        return inline(token.tokens, { ...style, italic: true });
      case 'del':
        return [{ text: '~~', style: quiet }, ...inline(token.tokens, style), { text: '~~', style: quiet }];
      case 'codespan':
        return [{ text: token.text, style: { ...style, ...code } }];
      case 'link': {
        const text = inline(token.tokens, { ...style, underline: true });
        const isSame = token.text === token.href || `mailto:${token.text}` === token.href;
        // The address is always in sight: a text must not pose as another one.
        return isSame ? text : [...text, { text: ` (${token.href})`, style: quiet }];
      }
      case 'image':
        return [{ text: `${token.text} (${token.href})`, style: quiet }];
      case 'br':
        return [{ text: '\n', style }];
      default:
        if (token.type === 'text' && 'tokens' in token && token.tokens) return inline(token.tokens, style);
        return [{ text: decoded('text' in token ? String(token.text) : token.raw), style }];
    }
  });
}

/** Wraps each line of a text by itself. A model's own line breaks stay, as people see them in other terminals. */
function wrapped(pieces: readonly StyledText[], columns: number): StyledLine[] {
  const lines: StyledText[][] = [[]];
  for (const { text, style } of pieces)
    for (const [i, part] of text.split('\n').entries()) {
      if (i > 0) lines.push([]);
      if (part !== '') lines.at(-1)?.push({ text: part, style });
    }
  return lines.flatMap((line) => wrapStyled(line, columns));
}

/** Columns as wide as their longest cell. If that is too wide, the widest columns are made narrower and wrap. */
function tableLines({ header, rows, align }: Tokens.Table, columns: number): StyledLine[] {
  const cells = [header, ...rows].map((row, i) =>
    row.map(({ tokens }) => inline(tokens, i === 0 ? { bold: true } : {})),
  );
  const widths = header.map((_, column) => Math.max(1, ...cells.map((row) => lineWidth(row[column] ?? []))));
  const room = columns - 3 * (widths.length - 1);
  while (sum(widths) > room && Math.max(...widths) > 4) {
    widths[widths.indexOf(Math.max(...widths))] = Math.max(...widths) - 1;
  }
  const bar: StyledText = { text: ' │ ', style: quiet };
  const drawn = cells.map((row) => {
    const wrappedCells = widths.map((width, column) => wrapped(row[column] ?? [], width));
    const height = Math.max(...wrappedCells.map((lines) => lines.length));
    return Array.from({ length: height }, (_, y) =>
      widths.flatMap((width, column) => [
        ...(column > 0 ? [bar] : []),
        ...padded(wrappedCells[column]?.[y] ?? [], width, align[column] ?? null),
      ]),
    );
  });
  const rule = { text: widths.map((width) => '─'.repeat(width)).join('─┼─'), style: quiet };
  const [head = [], ...body] = drawn;
  return [...head, [rule], ...body.flat()];
}

function padded(line: StyledLine, width: number, align: 'left' | 'right' | 'center' | null): StyledLine {
  const free = Math.max(width - lineWidth(line), 0);
  const before = align === 'right' ? free : align === 'center' ? Math.floor(free / 2) : 0;
  const space = (count: number): StyledText => ({ text: ' '.repeat(count), style: {} });
  return [space(before), ...line, space(free - before)];
}

const lineWidth = (line: StyledLine): number => line.reduce((width, { text }) => width + widthOf(text), 0);
const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

/** The few entities that models write; any other stays as it is. */
const decoded = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name: keyof typeof entities) => entities[name]);
const entities = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: ' ' } as const;
