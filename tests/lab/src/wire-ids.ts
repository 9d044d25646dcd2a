/** Records event ids from the wire, by connection, before a client could skip one (EV-2). */
export class WireIds {
  readonly connections: { readonly resumedFrom: number | undefined; readonly ids: number[] }[] = [];

  /** A `fetch` that records the ids of the streams it opens. */
  readonly fetch: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream')) {
      return response;
    }
    const header = new Headers(init?.headers).get('last-event-id');
    const ids: number[] = [];
    this.connections.push({ resumedFrom: header === null ? undefined : Number(header), ids });
    const reading = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, out) => {
        text += decoder.decode(chunk, { stream: true });
        const end = text.lastIndexOf('\n\n');
        for (const [, id] of text.slice(0, end + 1).matchAll(/^id: (\d+)$/gm)) ids.push(Number(id));
        text = text.slice(end + 1);
        out.enqueue(chunk);
      },
    });
    const decoder = new TextDecoder();
    let text = '';
    return new Response(response.body.pipeThrough(reading), response);
  };

  /** What a reconnecting client must never see: a repeated id, or one out of order. */
  problems(): string[] {
    return this.connections.flatMap(({ resumedFrom, ids }, connection) => {
      const inOrder = [...(resumedFrom === undefined ? [] : [resumedFrom]), ...ids];
      return inOrder.flatMap((id, i) => {
        const before = inOrder[i - 1];
        return before !== undefined && id <= before
          ? [`connection ${connection}: event ${id} came after ${before}`]
          : [];
      });
    });
  }
}
