import { ApiError, type CallInput, type Client, createClient } from '@countersign/client';

/** The token expires after this time if the program could not revoke it. */
const lifetimeSeconds = 24 * 3600;

type Wanted = Pick<CallInput<'createToken'>['body'], 'name' | 'scope' | 'project_id'>;

/**
 * A client with a token of scope runner or agent (AP-9), made with the person's token and kept in memory. It is renewed
 * when it expires, and revoked when the program ends. An agent's token that was revoked is not renewed: the person wanted
 * to stop the agent. If the given token may not create others, it is used itself.
 */
export class ScopedToken {
  readonly client: Client;
  readonly #access: { readonly client: Client };
  readonly #wanted: Wanted;
  #token: Promise<string> | undefined;
  /** When the newest token expires, in milliseconds. */
  #endsAt = 0;
  readonly #made: string[] = [];

  constructor(access: { readonly client: Client }, { name, ...wanted }: Wanted) {
    this.#access = access;
    this.#wanted = { ...wanted, name: name.slice(0, 100) };
    const { baseUrl, fetch, device } = access.client.connection;
    this.client = createClient({ baseUrl, fetch, device, token: (refused) => this.#current(refused) });
  }

  /** Revokes the tokens made here. Does not wait long for the server, because they expire anyway. */
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
    const body = { ...this.#wanted, expires_in_seconds: lifetimeSeconds };
    try {
      const { token, details } = await client.createToken({ body });
      this.#made.push(details.token_id);
      // A minute less, because the server's clock may differ from ours.
      this.#endsAt = Date.parse(details.expires_at ?? '') - 60_000;
      return token;
    } catch (error) {
      if (error instanceof ApiError && error.status === 403) return client.connection.token();
      throw error;
    }
  }
}
