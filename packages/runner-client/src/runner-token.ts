import { ApiError, type Client, createClient } from '@countersign/client';

/** It ends by itself should nobody be left to revoke it. */
const goodForSeconds = 24 * 3600;

/**
 * A client with a token that can only do what a runner does (AP-9), made from the person's and kept in memory; made
 * anew when it has ended, and revoked when the runner ends. A token that may not make others is used as it is.
 */
export class RunnerToken {
  readonly client: Client;
  readonly #access: { readonly client: Client };
  readonly #name: string;
  #token: Promise<string> | undefined;
  readonly #made: string[] = [];

  constructor(access: { readonly client: Client }, name: string) {
    this.#access = access;
    this.#name = name.slice(0, 100);
    const { baseUrl, fetch, device } = access.client.connection;
    this.client = createClient({ baseUrl, fetch, device, token: (refused) => this.#current(refused) });
  }

  /** Ends what was made here. A server that does not answer is not waited for: the token ends by itself. */
  async revoke(): Promise<void> {
    const revocations = this.#made.map((token_id) =>
      this.#access.client.revokeToken({ params: { token_id } }, { timeoutMs: 2_000 }).catch(() => {}),
    );
    await Promise.all(revocations);
  }

  #current(refused: string | undefined): Promise<string> {
    if (this.#token === undefined || refused !== undefined) {
      this.#token = this.#make();
      this.#token.catch(() => {
        this.#token = undefined; // the next request tries again
      });
    }
    return this.#token;
  }

  async #make(): Promise<string> {
    const { client } = this.#access;
    const body = { name: this.#name, scope: 'runner', expires_in_seconds: goodForSeconds } as const;
    try {
      const { token, details } = await client.createToken({ body });
      this.#made.push(details.token_id);
      return token;
    } catch (error) {
      if (error instanceof ApiError && error.status === 403) return client.connection.token();
      throw error;
    }
  }
}
