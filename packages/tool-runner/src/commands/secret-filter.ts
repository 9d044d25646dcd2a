/** Replaces secrets in a stream of output, also where a chunk ends inside one. */
export class SecretFilter {
  readonly #secrets: readonly string[];
  #held = '';

  constructor(secrets: readonly string[] = []) {
    this.#secrets = secrets;
  }

  /** Holds back the end of the chunk if a secret may begin there. */
  push(chunk: Buffer): Buffer {
    if (this.#secrets.length === 0) return chunk;
    const text = this.#masked(this.#held + chunk.toString('latin1'));
    const kept = Math.max(...this.#secrets.map((secret) => beginningAtEnd(text, secret)));
    this.#held = text.slice(text.length - kept);
    return Buffer.from(text.slice(0, text.length - kept), 'latin1');
  }

  /** Returns what was held back. Call it when no more output follows. */
  end(): Buffer {
    const rest = Buffer.from(this.#held, 'latin1');
    this.#held = '';
    return rest;
  }

  #masked(text: string): string {
    return this.#secrets.reduce((masked, secret) => masked.replaceAll(secret, '***'), text);
  }
}

/** How many characters at the end of the text are the beginning of the secret. */
function beginningAtEnd(text: string, secret: string): number {
  let length = Math.min(text.length, secret.length - 1);
  while (length > 0 && !text.endsWith(secret.slice(0, length))) length -= 1;
  return length;
}
