import { askDeliberately, isSeenLongEnough } from '@countersign/approvals';
import { systemClock } from '@countersign/client';
import type { Key } from '../screen/keys.ts';
import type { Terminal } from '../terminal.ts';
import type { Words } from '../words.ts';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * The person at the terminal while a command is tried. Has the keyboard from the start, so that nothing that was typed
 * before the question answers it (UI-6), and takes Ctrl-C and signals as "stop".
 */
export class Person {
  readonly #terminal: Terminal;
  readonly #stop = new AbortController();
  readonly #release: () => void;
  #onKey: (key: Key) => void = () => {};

  constructor(terminal: Terminal, takesKeys: boolean) {
    this.#terminal = terminal;
    const stop = (): void => this.#stop.abort();
    for (const signal of signals) process.on(signal, stop);
    const releaseKeys = takesKeys
      ? terminal.screen?.onKeys((key) => {
          if (key.name === 'ctrl-c') stop();
          else this.#onKey(key);
        })
      : undefined;
    let isReleased = false;
    const release = (): void => {
      if (isReleased) return;
      isReleased = true;
      for (const signal of signals) process.off(signal, stop);
      releaseKeys?.();
      process.off('exit', release);
    };
    this.#release = release;
    // Restores echo, however the process ends.
    process.once('exit', release);
  }

  /** Aborted when the person wants to stop. */
  get stopped(): AbortSignal {
    return this.#stop.signal;
  }

  /** Whether the effects shall land. Everything but a deliberate yes is a no. */
  async saysYes(question: string, words: Words['try']): Promise<boolean> {
    if (this.stopped.aborted) return false;
    return this.#terminal.screen ? this.#pressesYes(question, words) : this.#typesYes(question, words);
  }

  async #pressesYes(question: string, words: Words['try']): Promise<boolean> {
    await this.#terminal.write(`${question}\n${words.keys}\n`);
    const since = systemClock.monotonic();
    return new Promise((resolve) => {
      this.stopped.addEventListener('abort', () => resolve(false), { once: true });
      this.#onKey = ({ name, together }) => {
        if (together || !isSeenLongEnough(since, systemClock)) return;
        if (name === 'y') resolve(true);
        else if (['n', 'enter', 'escape', 'ctrl-d'].includes(name)) resolve(false);
      };
    });
  }

  async #typesYes(question: string, words: Words['try']): Promise<boolean> {
    await this.#terminal.write(`${question}\n`);
    const asking = async (): Promise<string | undefined> => {
      for await (const line of this.#terminal.typed(words.typed)) return line.trim().toLowerCase();
      return undefined;
    };
    const onTooSoon = (): void => this.#terminal.writeError(`${words.tooSoon}\n`);
    const answer = await askDeliberately(asking, {
      clock: systemClock,
      decides: isYes,
      onTooSoon,
    });
    return answer !== undefined && isYes(answer) && !this.stopped.aborted;
  }

  /** Gives the keyboard back. Harmless twice. */
  leave(): void {
    this.#release();
  }
}

const isYes = (answer: string): boolean => answer === 'y' || answer === 'yes' || answer === 'да';
