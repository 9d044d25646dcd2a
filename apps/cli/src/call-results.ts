import type { Client } from '@countersign/client';
import type { CountersignEvent } from '@countersign/protocol';

/** Fetches a result that was too large for its event (EV-2). Returns the event as it came if that fails. */
export async function withWholeResult(
  client: Pick<Client, 'getExecution'>,
  event: CountersignEvent,
): Promise<CountersignEvent> {
  if (!lacksResult(event) || event.event !== 'tool.result') return event;
  const { omitted: _, ...data } = event.data;
  try {
    const { result } = await client.getExecution({ params: { tool_id: data.tool_id } });
    return { event: 'tool.result', data: { ...data, result } };
  } catch {
    return event;
  }
}

export const lacksResult = ({ event, data }: CountersignEvent): boolean =>
  event === 'tool.result' && data.omitted?.includes('result') === true;
