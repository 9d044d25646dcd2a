import { Refusal } from '@countersign/engine';
import type { AuthenticatedCaller } from '../auth/authenticator.ts';
import type { ServerParts } from './server-parts.ts';

/** Refuses one more stream, or request that is held open, where there are enough: of all, and of this person. */
export function requireRoomForStream(
  { openStreams, config }: Pick<ServerParts, 'openStreams' | 'config'>,
  { userId }: Pick<AuthenticatedCaller, 'userId'>,
): void {
  const isFull = openStreams.size >= config.maxStreams;
  if (isFull) throw new Refusal('UNAVAILABLE', { problem: 'too many streams are open' });
  let own = 0;
  for (const { caller } of openStreams) if (caller.userId === userId) own += 1;
  if (own >= config.maxStreamsOfPerson)
    throw new Refusal('UNAVAILABLE', { problem: 'you have too many streams open' });
}
