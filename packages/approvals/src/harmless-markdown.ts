/**
 * Makes untrusted Markdown safe to include in our own document. A viewer loads and runs nothing in it, and it cannot hide
 * text or affect the rest of the document: tags, images and link definitions become text, headings move two levels down,
 * and an open fence is closed. Code stays unchanged where every renderer agrees that it is code; otherwise it becomes text.
 */
export function harmlessMarkdown(markdown: string): string {
  const lines = markdown.replaceAll(/\r\n?/g, '\n').split('\n');
  const parts: string[] = [];
  let text: string[] = [];
  const endText = () => {
    if (text.length > 0) parts.push(...harmlessText(text));
    text = [];
  };
  let uncertainUntil = 0;
  for (let at = 0; at < lines.length; ) {
    const fence = at < uncertainUntil ? undefined : fenceAt(lines, at);
    if (fence?.lines) {
      endText();
      parts.push(...fence.lines);
      at = fence.end;
      continue;
    }
    uncertainUntil = fence?.end ?? uncertainUntil;
    const line = lines[at] as string;
    if (line.trim() === '') {
      endText();
      parts.push('');
    } else text.push(line);
    at += 1;
  }
  endText();
  return parts.join('\n');
}

interface Fence {
  /** Undefined if renderers may disagree about where the fence ends. */
  readonly lines: readonly string[] | undefined;
  /** The index of the line after it, or of the one that makes it uncertain. */
  readonly end: number;
}

/**
 * The fenced code that begins at a line, always closed. It may be in a list item, so all its lines must be indented as
 * the first one is.
 */
function fenceAt(lines: readonly string[], start: number): Fence | undefined {
  const [, indent, mark] = /^( *)(`{3,}(?=[^`]*$)|~{3,})/.exec(lines[start] ?? '') ?? [];
  if (indent === undefined || mark === undefined) return undefined;
  let end = start + 1;
  for (; end < lines.length; end += 1) {
    const line = lines[end] as string;
    const closed = indentOfClosing(line, mark);
    if (closed === indent || (indent === '' && closed !== undefined && /^ {0,3}$/.test(closed))) break;
    if (indent === '' || line.trim() === '') continue;
    if (closed !== undefined || !line.startsWith(indent)) return { lines: undefined, end };
  }
  const inside = lines.slice(start, end);
  // With this much indentation, some renderers may not see a fence: escape the text too.
  const shown = indent.length > 3 ? inside.map(escaped) : inside;
  return { lines: [...shown, lines[end] ?? indent + mark], end: end + 1 };
}

function indentOfClosing(line: string, mark: string): string | undefined {
  const [, indent, run = ''] = /^([ \t]*)(`+|~+)[ \t]*$/.exec(line) ?? [];
  return run.startsWith(mark) ? indent : undefined;
}

/** Lines without an empty one between them. */
function harmlessText(lines: readonly string[]): readonly string[] {
  const noFences = lines.map(withoutFence);
  const split = noFences.map(splitCode);
  // A code span may continue in the next line: then treat the whole text as text.
  const isCertain = split.every((parts) => parts !== undefined);
  return noFences.flatMap((line, index) => {
    const parts = isCertain ? split[index] : undefined;
    const shown = parts?.map((part, at) => (at % 2 === 1 ? part : escaped(part))).join('') ?? escaped(line);
    // An underline would make the line above a heading as large as ours.
    return index > 0 && /^ {0,3}(?:=+|-+)[ \t]*$/.test(line) ? ['', shown] : [lowered(shown)];
  });
}

/** Escapes the mark of a fence that `fenceAt` did not accept, so that it is text. */
const withoutFence = (line: string): string =>
  line.replace(
    /^((?:[\s>*+\-\d.)]|\[\^[^\]]*\]:)*)(`{3,}(?=[^`]*$)|~{3,})/,
    (_, before: string, mark: string) => before + mark.replaceAll(/./g, '\\$&'),
  );

/** Splits a line: text at even indexes, code spans at odd ones. Undefined if renderers may split it differently. */
function splitCode(line: string): readonly string[] | undefined {
  const parts: string[] = [];
  const token = /`+|\\.?|[^`\\]+/gy;
  let text = '';
  for (let [found] = token.exec(line) ?? []; found !== undefined; [found] = token.exec(line) ?? []) {
    if (!found.startsWith('`')) {
      text += found;
      continue;
    }
    // Some renderers make a link of such an address, including the backtick.
    if (/(?::\/\/|www\.)\S*$/i.test(text)) return undefined;
    const end = endOfSpan(line, token.lastIndex, found);
    const span = line.slice(token.lastIndex - found.length, end);
    if (end === undefined || span.includes('|')) return undefined; // "|" ends the cell of a table
    parts.push(text, span);
    text = '';
    token.lastIndex = end;
  }
  return [...parts, text];
}

/** Where a span of code ends: after the next run of as many backticks. */
function endOfSpan(line: string, from: number, opening: string): number | undefined {
  const run = /`+/g;
  run.lastIndex = from;
  for (let found = run.exec(line); found; found = run.exec(line))
    if (found[0] === opening) return run.lastIndex;
  return undefined;
}

/** Uses an entity for `<`, because a backslash before it may itself be escaped. */
const escaped = (text: string): string =>
  text.replaceAll(/\\?</g, '&lt;').replaceAll('![', '!\\[').replaceAll(']:', ']\\:');

const lowered = (line: string): string =>
  line.replace(
    /^((?:[\s>*+-]|\d+[.)])*)(#{1,6})(?=[ \t]|$)/,
    (_, before: string, marks: string) => before + '#'.repeat(Math.min(6, marks.length + 2)),
  );
