import type { EventName, EventPayload } from '@countersign/protocol';
import type { ExecutionRow, Json } from '../rows.ts';
import type { Transaction } from '../store.ts';

type Unchanging<T> = T extends readonly (infer Item)[]
  ? readonly Unchanging<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Unchanging<T[Key]> }
    : T;

/** The payload of an event. It is made from rows and shared by every stream, so nobody may change it. */
export type EventData<N extends EventName> = Unchanging<EventPayload<N>>;

/** An event as the server makes, stores and sends it. */
export type ServerEvent<N extends EventName = EventName> = {
  [Name in N]: { readonly event: Name; readonly data: EventData<Name> };
}[N];

/** An event whose payload fits its name. */
export const makeEvent = <N extends EventName>(event: N, data: EventData<N>): ServerEvent<N> => ({
  event,
  data,
});

/** The same moment is written into several events. */
let lastTime = { at: Number.NaN, text: '' };
export function isoTime(at: number): string {
  if (lastTime.at !== at) lastTime = { at, text: new Date(at).toISOString() };
  return lastTime.text;
}

/**
 * Inside a unit: tells the project of a call, an approval or a run what became of it. `action` is its line in the audit
 * log, with `data`.
 */
export function announceCall(
  tx: Transaction,
  { id, user_id, project_id }: Pick<ExecutionRow, 'id' | 'user_id' | 'project_id'>,
  events: readonly ServerEvent[],
  action?: string,
  data: Json = {},
): void {
  tx.announce(user_id, {
    events: events.map((event) => ({ projectId: project_id, event })),
    audit: action === undefined ? [] : [{ action, subject: id, data }],
  });
}
