import type { EventPayload } from '@countersign/protocol';
import { visible } from '../screen/paragraph.ts';
import { paints } from '../terminal.ts';
import type { Words } from '../words.ts';

type Resolution = Pick<EventPayload<'approval.resolved'>, 'device' | 'grant_id' | 'error'> & {
  readonly status: string;
};

/** How a request ended, in one line that stays: `✓ Agent wants to change config.json · approved on phone`. */
export function resolutionLine(
  description: string,
  { status, device, grant_id, error }: Resolution,
  here: { readonly device: string; readonly words: Words; readonly color: boolean },
  more?: string,
): string {
  const { outcome } = here.words;
  const paint = paints(here.color);
  const isHere = device === here.device;
  const where = visible(device ?? '?');
  const words = (() => {
    switch (status) {
      case 'approved':
        if (isHere) return outcome.approvedHere;
        return device === null && grant_id !== null ? outcome.approvedByGrant : outcome.approvedOn(where);
      case 'rejected':
        return isHere ? outcome.rejectedHere : outcome.rejectedOn(where);
      case 'timeout':
        return outcome.timeout;
      default:
        return error
          ? outcome.failed(`${visible(here.words.said(error))} (${error.code})`)
          : outcome.cancelled;
    }
  })();
  const mark =
    status === 'approved' ? paint.green('✓') : status === 'rejected' ? paint.red('✗') : paint.yellow('–');
  const tail = more === undefined ? words : `${words} · ${visible(more)}`;
  return `${mark} ${visible(description)} ${paint.dim(`· ${tail}`)}`;
}
