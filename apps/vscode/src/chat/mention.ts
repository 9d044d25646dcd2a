import { visibleLine } from '@countersign/protocol';

/** Lines of a file, counted from 1; the last one is included. */
export interface Lines {
  readonly from: number;
  readonly to: number;
}

/**
 * A file in a message, relative to its workspace: `@src/main.ts`, or `@src/main.ts#L3-9`. The agent reads the file with
 * its tools, so that policy and sensitive files count as always. Control characters of a name are made visible, because
 * a line break in a message could begin a typed tool call.
 */
export function mentionOf(path: string, lines?: Lines): string {
  const name = visibleLine(path);
  const quoted = /\s/.test(name) ? `"${name}"` : name;
  if (!lines) return `@${quoted}`;
  return `@${quoted}#L${lines.from}${lines.to > lines.from ? `-${lines.to}` : ''}`;
}
