import type { Progress } from './executor.ts';
import type { Logger } from './logger.ts';
import type { ProgressReport, RunnerApi } from './runner-api.ts';

/** How often progress is reported. Work that ends sooner is not reported. */
const EVERY_MS = 500;

export interface WorkProgress {
  readonly report: (progress: Progress) => void;
  /** How far the work is now; undefined while there is nothing to say. */
  readonly describe: () => Progress | undefined;
}

/** Runs `work` and reports its progress at intervals, whenever it has changed (EV-1). */
export async function reportProgress<T>(
  { report, describe }: WorkProgress,
  work: () => Promise<T>,
): Promise<T> {
  let told: Progress | undefined;
  const timer = setInterval(() => {
    const now = describe();
    if (!now || (now.percent === told?.percent && now.message === told?.message)) return;
    told = now;
    report(now);
  }, EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

/** How much of a file was read or written. */
export class BytesDone {
  readonly #verb: string;
  #done = 0;
  #total = 0;

  constructor(verb: 'read' | 'written') {
    this.#verb = verb;
  }

  readonly note = (done: number, total: number): void => {
    this.#done = done;
    this.#total = total;
  };

  get isBegun(): boolean {
    return this.#total > 0;
  }

  /** 0 to 1. */
  get part(): number {
    return this.#total === 0 ? 0 : this.#done / this.#total;
  }

  get message(): string {
    return `${megabytes(this.#done)} of ${megabytes(this.#total)} MB ${this.#verb}`;
  }
}

const megabytes = (bytes: number): string => (bytes / 1_000_000).toFixed(1);

/** While a report is being sent, only this many of the newest characters are kept. The result has the whole output. */
const MAX_WAITING = 16 * 1024;

type Stream = 'stdout' | 'stderr';

/**
 * Sends the progress of one call, one report at a time, and merges what arrives meanwhile. The percentage never
 * decreases. A report that cannot be sent is dropped, which does no harm.
 */
export class ProgressSender {
  readonly #send: (report: ProgressReport) => Promise<unknown>;
  readonly #logger: Logger;
  readonly #output: Record<Stream, string> = { stdout: '', stderr: '' };
  #latest: Pick<ProgressReport, 'progress' | 'message'> | undefined;
  #percent = 0;
  #isSending = false;
  #isClosed = false;

  constructor(api: Pick<RunnerApi, 'sendToolProgress'>, toolId: string, logger: Logger) {
    this.#send = async (report) => api.sendToolProgress?.(toolId, report);
    this.#logger = logger;
  }

  report({ percent, message, output }: Progress): void {
    if (this.#isClosed) return;
    if (percent !== undefined) this.#percent = Math.max(this.#percent, Math.min(100, percent));
    if (percent !== undefined || message !== undefined)
      this.#latest = {
        progress: percent === undefined ? null : this.#percent,
        message: message?.slice(0, 1000) ?? null,
      };
    if (output)
      this.#output[output.stream] = (this.#output[output.stream] + output.chunk).slice(-MAX_WAITING);
    if (!this.#isSending) void this.#sendWaiting();
  }

  /** Call when the tool call has ended: no further report is sent. */
  close(): void {
    this.#isClosed = true;
  }

  async #sendWaiting(): Promise<void> {
    this.#isSending = true;
    try {
      for (let next = this.#next(); next && !this.#isClosed; next = this.#next()) await this.#send(next);
    } catch (error) {
      this.#logger.debug('Sending progress failed', { error });
    } finally {
      this.#isSending = false;
    }
  }

  #next(): ProgressReport | undefined {
    const stream = (['stdout', 'stderr'] as const).find((name) => this.#output[name] !== '');
    if (stream === undefined && !this.#latest) return undefined;
    const output = stream === undefined ? null : { stream, chunk: this.#output[stream] };
    if (stream !== undefined) this.#output[stream] = '';
    const { progress, message } = this.#latest ?? { progress: null, message: null };
    this.#latest = undefined;
    return { progress, message, output };
  }
}
