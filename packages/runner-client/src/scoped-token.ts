import { ApiError, type CallInput, type Client, createClient } from '@countersign/client';

/** It expires by itself in case the program cannot revoke it. */
const goodForSeconds = 24 * 3600;

type Wanted = Pick<CallInput<'createToken'>['body'], 'name' | 'scope' | 'project_id'>;

/**
 * A client with a token that can only do what a runner or an agent does (AP-9). The token is made from the person's,
 * kept in memory, renewed when it has expired, and revoked when the program ends. If somebody revokes an agent's token,
 * they mean the agent: it is renewed only if it had expired. If the person's token may not make others, it is used
 * itself.
 */
export class ScopedToken {
  readonly client: Client;
  readonly #access: { readonly client: Client };
  readonly #wanted: Wanted;
  #token: Promise<string> | undefined;
  /** When the newest one expires, in milliseconds since 1970. */
  #endsAt = 0;
  readonly #made: string[] = [];

  constructor(access: { readonly client: Client }, { name, ...wanted }: Wanted) {
    this.#access = access;
    this.#wanted = { ...wanted, name: name.slice(0, 100) };
    const { baseUrl, fetch, device } = access.client.connection;
    this.client = createClient({ baseUrl, fetch, device, token: (refused) => this.#current(refused) });
  }

  /** Revokes the tokens made here. Waits at most 2 s for the server: the tokens expire by themselves. */
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
      // A minute earlier: the server's clock may differ from ours.
      this.#endsAt = Date.parse(details.expires_at ?? '') - 60_000;
      return token;
    } catch (error) {
      if (error instanceof ApiError && error.status === 403) return client.connection.token();
      throw error;
    }
  }
}
