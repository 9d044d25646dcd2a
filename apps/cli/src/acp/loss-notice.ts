/**
 * Reports each lost connection once. If `tell` resolves with false or rejects, the next retry reports the loss again.
 */
export class LossNotice {
  readonly #tell: () => Promise<boolean>;
  /** The current loss. Each has an object of its own, so that a late answer about an earlier loss changes nothing. */
  #loss: { isTold: boolean } | undefined;

  /** `tell` resolves with true if the person was told. */
  constructor(tell: () => Promise<boolean>) {
    this.#tell = tell;
  }

  /** The connection is open again. */
  over(): void {
    this.#loss = undefined;
  }

  /** The connection is lost, and another attempt to open it has failed. */
  async retried(): Promise<void> {
    this.#loss ??= { isTold: false };
    const loss = this.#loss;
    if (loss.isTold) return;
    loss.isTold = true;
    loss.isTold = await this.#tell().catch(() => false);
  }
}
