/** One call, from request to result. `lane`: the index among the calls that run at once. */
export type Call = (lane: number) => Promise<unknown>;

/** A number of calls of one kind, with a limit on concurrency. */
export interface Order {
  readonly kind: string;
  readonly calls: number;
  readonly inFlight: number;
}

/** Makes the calls of an order; resolves with the milliseconds that they took. */
export const callsOf =
  (kinds: Readonly<Record<string, Call>>) =>
  async ({ kind, calls, inFlight }: Order): Promise<number> => {
    const call = kinds[kind];
    if (call === undefined) throw new Error(`There is no call of the kind ${kind}`);
    const startedAt = performance.now();
    let left = calls;
    const lanes = Array.from({ length: inFlight }, async (_, lane) => {
      while (left > 0) {
        left -= 1;
        await call(lane);
      }
    });
    await Promise.all(lanes);
    return performance.now() - startedAt;
  };
