import type { Progress } from './executor.ts';

/** How often progress is reported. Work that ends sooner is not reported. */
const EVERY_MS = 500;

export interface WorkProgress {
  readonly report: (progress: Progress) => void;
  /** How far the work is now; undefined while there is nothing to say. */
  readonly describe: () => Progress | undefined;
}

/** Runs some work and reports its progress if it takes long, whenever something is new (EV-1). */
export async function tellProgress<T>(
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
