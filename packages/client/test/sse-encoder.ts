/** The wire format of one event, written the obvious way: the reference for the parser's tests. */
export interface WireEvent {
  readonly name?: string;
  readonly data?: string;
  readonly id?: string;
}

export type LineEnd = '\n' | '\r' | '\r\n';

export function encodeEvent({ name, data, id }: WireEvent, lineEnd: LineEnd = '\n'): string {
  const lines: string[] = [];
  if (id !== undefined) lines.push(`id: ${id}`);
  if (name !== undefined) lines.push(`event: ${name}`);
  if (data !== undefined) lines.push(...data.split('\n').map((line) => `data: ${line}`));
  return [...lines, '', ''].join(lineEnd);
}

/** An event as our server sends it: JSON has no raw line breaks, so nothing in it can break the framing. */
export function encodeJson(name: string, data: unknown, id?: number): string {
  return encodeEvent({ name, data: JSON.stringify(data), ...(id === undefined ? {} : { id: String(id) }) });
}

/** A small valid event. Tests tell such events apart by their reason. */
export function cancelEvent(reason: string): { event: 'tool.cancel'; data: Record<string, string> } {
  return {
    event: 'tool.cancel',
    data: { tool_id: 't1', project_id: 'p1', session_id: 's1', reason, timestamp: '2026-01-02T03:04:05Z' },
  };
}

export function encodeCancel(reason: string, id?: number): string {
  return encodeJson('tool.cancel', cancelEvent(reason).data, id);
}

export function encodeReset(reason: string, id?: number): string {
  return encodeJson('stream.reset', { reason, timestamp: '2026-01-02T03:04:05Z' }, id);
}
