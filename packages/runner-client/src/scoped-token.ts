import { ApiError, type CallInput, type Client, createClient } from '@countersign/client';

/** It ends by itself should nobody be left to revoke it. */
const goodForSeconds = 24 * 3600;

type Wanted = Pick<CallInput<'createToken'>['body'], 'name' | 'scope' | 'project_id'>;

/**
 * A client with a token that can only do what a runner or an agent does (AP-9), made from the person's and kept in
 * memory; made anew when it has ended, and revoked when the program ends. Whoever revokes an agent's means the agent: it
 * is made anew only when its time was over. A token that may not make others is used as it is.
 */
export class ScopedToken {
  readonly client: Client;
  readonly #access: { readonly client: Client };
  readonly #wanted: Wanted;
  #token: Promise<string> | undefined;
  /** When the newest one ends by itself, in milliseconds. */
  #endsAt = 0;
  readonly #made: string[] = [];

  constructor(access: { readonly client: Client }, { name, ...wanted }: Wanted) {
    this.#access = access;
    this.#wanted = { ...wanted, name: name.slice(0, 100) };
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
    const isRevoked = refused !== undefined && this.#wanted.scope === 'agent' && Date.now() < this.#endsAt;
    if (this.#token === undefined || (refused !== undefined && !isRevoked)) {
      this.#token = this.#make();
      this.#token.catch(() => {
        this.#token = undefined; // the next request tries again
      });
    }
    return this.#token;
  }

  async #make(): Promise<string> {
    const { client } = this.#access;
    const body = { ...this.#wanted, expires_in_seconds: goodForSeconds };
    try {
      const { token, details } = await client.createToken({ body });
      this.#made.push(details.token_id);
      // A minute less: the server's clock need not be ours.
      this.#endsAt = Date.parse(details.expires_at ?? '') - 60_000;
      return token;
    } catch (error) {
      if (error instanceof ApiError && error.status === 403) return client.connection.token();
      throw error;
    }
  }
}
