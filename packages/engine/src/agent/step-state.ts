import type { Bus, Hint, Store } from '../store.ts';
import { type HeldRun, RunLost } from './held-run.ts';

/**
 * What clients are told while the calls of a step are under way: `awaiting_approval` while the person is asked about
 * one of them, `tool_execution` otherwise. Read from the rows whenever something of theirs changed.
 */
export class StepState {
  readonly #run: HeldRun;
  readonly #store: Store;
  readonly #onError: (error: unknown) => void;
  readonly #unsubscribe: () => void;
  readonly #open = new Set<string>();
  #reading: Promise<void> | undefined;
  #askedAgain = false;
  #closed = false;

  constructor(run: HeldRun, deps: { store: Store; bus: Bus; onError: (error: unknown) => void }) {
    this.#run = run;
    this.#store = deps.store;
    this.#onError = deps.onError;
    this.#unsubscribe = deps.bus.subscribe((hint) => {
      if (this.#concerns(hint)) this.#refresh();
    });
  }

  begin(toolId: string): void {
    this.#open.add(toolId);
    this.#refresh();
  }

  end(toolId: string): void {
    this.#open.delete(toolId);
    this.#refresh();
  }

  /** After this nothing more is announced. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#unsubscribe();
    await this.#reading;
  }

  #concerns(hint: Hint): boolean {
    if (hint.kind !== 'events' || hint.userId !== this.#run.userId) return false;
    // From another node there are no events with the hint: look.
    return (
      hint.events?.some(
        ({ event }) =>
          (event.event === 'tool.approval_request' || event.event === 'approval.resolved') &&
          this.#open.has(event.data.tool_id),
      ) ?? true
    );
  }

  #refresh(): void {
    if (this.#closed) return;
    this.#askedAgain = true;
    this.#reading ??= this.#readAndAnnounce()
      .catch((error) => {
        if (!(error instanceof RunLost)) this.#onError(error);
      })
      .finally(() => {
        this.#reading = undefined;
      });
  }

  async #readAndAnnounce(): Promise<void> {
    while (this.#askedAgain && !this.#closed) {
      this.#askedAgain = false;
      const ids = [...this.#open];
      if (ids.length === 0) return;
      const isAsking = await this.#store.read(function* (tx) {
        for (const id of ids) {
          if ((yield* tx.get('tool_executions', id))?.status === 'awaiting_approval') return true;
        }
        return false;
      });
      if (!this.#closed) await this.#run.announceState(isAsking ? 'awaiting_approval' : 'tool_execution');
    }
  }
}
