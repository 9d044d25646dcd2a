import type { CountersignEvent } from '@countersign/protocol';

/**
 * What the cards hear of the stream. Beside a runner they are the runner's, drawn from what it found on this machine:
 * of the server they hear only how a request ended, since it could have them show something else (RN-2).
 */
export const isForCards = (
  { event }: CountersignEvent,
  { isBesideRunner }: { readonly isBesideRunner: boolean },
): boolean => !isBesideRunner || event === 'approval.resolved';
