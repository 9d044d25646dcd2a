import type { Effect } from '../layers/effect.ts';
import type { DoorRequest } from '../ports/runner-door.ts';
import type { RequestsHere, TriedLanding, UndoHere } from './requests-here.ts';

/** What a runner answers at its door, by path. */
export const doorRequests = ({
  landTried,
  undoHere,
}: Pick<RequestsHere, 'landTried' | 'undoHere'>): Readonly<Record<string, DoorRequest>> => ({
  '/land': async (lines) => landTried(await landingFrom(lines)),
  '/undo': async (lines) => {
    for await (const line of lines) return undoHere(JSON.parse(line) as UndoHere);
    throw new Error('the request is empty');
  },
});

/** The last line: a landing that was cut off must not land in part. */
const END = 'end';

/** One effect a line: a landing of many thousands must not hold up the runner's other work. */
export function* landingLines({ effects, ...head }: TriedLanding): Generator<string> {
  yield `${JSON.stringify(head)}\n`;
  for (const effect of effects) yield `${JSON.stringify(effect)}\n`;
  yield `${END}\n`;
}

async function landingFrom(lines: AsyncIterable<string>): Promise<TriedLanding> {
  let head: Omit<TriedLanding, 'effects'> | undefined;
  const effects: Effect[] = [];
  for await (const line of lines) {
    if (line === END && head) return { ...head, effects };
    if (head) effects.push(JSON.parse(line) as Effect);
    else head = JSON.parse(line) as Omit<TriedLanding, 'effects'>;
  }
  throw new Error('the request was cut off');
}
