import type { StreamState } from '@countersign/client';
import { visible } from '../screen/paragraph.ts';
import type { Words } from '../words.ts';

/** The status line about the connection; undefined while it is open. */
export function streamWords(
  state: StreamState,
  address: string,
  { stream, said }: Words,
): string | undefined {
  switch (state.status) {
    case 'connecting':
    case 'open':
      return undefined;
    case 'waiting':
      return stream.waiting(visible(state.error.code), Math.ceil(state.retryInMs / 1000));
    case 'closed':
      if (state.why === 'stopped') return undefined;
      return state.why === 'unauthenticated'
        ? stream.unauthenticated(address)
        : stream.refused(visible(said(state.error)));
  }
}
