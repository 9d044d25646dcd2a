import { maxEventBytes } from '@countersign/protocol';

/** What is larger is left out of events and lists, and fetched by id (EV-2): with room for name, id and what is missing. */
export const largestShown = maxEventBytes - 512;

/** How large a value is at least: the characters of its texts, and one for each field. Costs nothing for a long text. */
export const sizeOf = (value: unknown): number =>
  Number.MAX_SAFE_INTEGER - charactersLeft(value, Number.MAX_SAFE_INTEGER);

/**
 * Whether a value can be shown. A file of 100 MiB need not be written out, for each of its events, to know that it does
 * not fit.
 */
export const fits = (value: unknown): boolean =>
  charactersLeft(value, largestShown) >= 0 && Buffer.byteLength(JSON.stringify(value)) <= largestShown;

/** What is left of some characters when all texts were taken away; below 0 as soon as there are too many. */
function charactersLeft(value: unknown, from: number): number {
  if (typeof value === 'string') return from - value.length;
  let left = from;
  if (typeof value === 'object' && value !== null)
    for (const item of Object.values(value)) {
      left = charactersLeft(item, left - 1);
      if (left < 0) break;
    }
  return left;
}
