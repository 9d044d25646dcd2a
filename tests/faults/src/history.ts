import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * What happened, in the order in which the test driver learned of it. The checker sees nothing else of the run itself.
 */
export type Entry =
  /** An agent made a call; `toolId` is set if the server accepted it. */
  | { readonly what: 'called'; readonly user: string; readonly mark: string; readonly toolId: string }
  | { readonly what: 'said'; readonly user: string; readonly text: string; readonly runId: string }
  /** A call as its owner saw it over REST. */
  | { readonly what: 'seen'; readonly user: string; readonly toolId: string; readonly status: string }
  /** A person approves what a card shows: `base` is the file's first line on the card. */
  | {
      readonly what: 'approving';
      readonly user: string;
      readonly mark: string;
      readonly approvalId: string;
      readonly digest: string;
      readonly base: string | undefined;
    }
  /** The response to a decision: it was recorded, the same one stood already, or another one does. */
  | {
      readonly what: 'decided';
      readonly user: string;
      readonly approvalId: string;
      readonly device: string;
      readonly decision: 'approved' | 'rejected';
      readonly outcome: 'recorded' | 'already' | 'overruled';
      readonly standing: string;
    }
  /** An event of a person's stream, without its payload. */
  | {
      readonly what: 'event';
      readonly user: string;
      readonly device: string;
      readonly id: number | undefined;
      readonly name: string;
      readonly toolId: string | undefined;
      readonly approvalId: string | undefined;
      readonly status: string | undefined;
      /** True for a result that came after the end. */
      readonly late: boolean;
    }
  /** A second program with the runner's id got a claim. */
  | { readonly what: 'rival'; readonly user: string; readonly toolId: string }
  | { readonly what: 'fault'; readonly kind: string; readonly about: string }
  /** The last fault of this kind could not happen. */
  | { readonly what: 'missed'; readonly kind: string }
  /** A server ended that the test did not end. */
  | { readonly what: 'ended'; readonly node: number; readonly how: string; readonly log: string }
  /** A violation that an actor saw at once; it needs no further check. */
  | { readonly what: 'wrong'; readonly problem: string };

/** The record of a run: in memory for the checker, and line by line on disk to read later. */
export class History {
  readonly entries: Entry[] = [];
  readonly file: string;
  readonly #startedAt = performance.now();

  constructor(folder: string) {
    mkdirSync(folder, { recursive: true });
    this.file = join(folder, 'history.jsonl');
  }

  add(entry: Entry): void {
    this.entries.push(entry);
    const at = Math.round(performance.now() - this.#startedAt);
    appendFileSync(this.file, `${JSON.stringify({ at, ...entry })}\n`);
  }

  all<W extends Entry['what']>(what: W): Extract<Entry, { what: W }>[] {
    return this.entries.filter((entry): entry is Extract<Entry, { what: W }> => entry.what === what);
  }
}
