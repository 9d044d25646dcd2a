import { type Client, createClient } from '@countersign/client';
import {
  type AddressProblem,
  isToken,
  readServerAddress,
  readSignInLink,
  tokenIdOf,
} from '@countersign/runner-client';

/** The editor's secret storage. */
export interface SecretStore {
  get(key: string): PromiseLike<string | undefined>;
  store(key: string, value: string): PromiseLike<void>;
  delete(key: string): PromiseLike<void>;
}

export interface Account {
  readonly server: string;
  readonly client: Client;
}

export type SignInProblem =
  | { readonly problem: 'not a link' }
  | { readonly problem: AddressProblem; readonly origin: string };

interface StoredAccount {
  readonly server: string;
  readonly token: string;
}

export interface AccountsOptions {
  readonly secrets: SecretStore;
  /** The device name that other devices show for decisions made here. */
  readonly device: string;
  readonly fetch?: typeof fetch;
}

const key = 'countersign.account';

/**
 * The person's account on a server. Address and token are stored together in the editor's secret storage, so that a
 * token is never sent to a server that did not issue it (RE-5).
 */
export class Accounts {
  readonly #options: AccountsOptions;
  #stored: StoredAccount | undefined;
  #current: Account | undefined;

  constructor(options: AccountsOptions) {
    this.#options = options;
  }

  get current(): Account | undefined {
    return this.#current;
  }

  /** Loads the stored account, also after another window has signed in or out. Returns whether it changed. */
  async load(): Promise<boolean> {
    const kept = readStored(await this.#options.secrets.get(key));
    if (kept?.token === this.#stored?.token && kept?.server === this.#stored?.server) return false;
    this.#use(kept);
    return true;
  }

  /** Signs in with a pasted link, code or token. Throws an ApiError if the server refuses it. */
  async signIn(
    pasted: string,
    { server, allowHttp }: { readonly server: string; readonly allowHttp: boolean },
  ): Promise<Account | SignInProblem> {
    const text = pasted.trim();
    const link = readSignInLink(text);
    if (!link && !isToken(text)) return { problem: 'not a link' };
    const read = readServerAddress(link?.server ?? server, { allowHttp });
    if ('problem' in read) return read;
    const exchanged = link && (await this.#client(read.address, '').signIn({ body: { code: link.code } }));
    const token = exchanged?.token ?? text;
    if (!link) await this.#client(read.address, token).listProjects();
    const before = this.#stored;
    const kept = { server: read.address, token };
    const account = this.#use(kept); // set it first: storing notifies every window, this one too
    try {
      await this.#options.secrets.store(key, JSON.stringify(kept));
    } catch (error) {
      this.#use(before);
      throw error;
    }
    if (before) void this.#revoke(before);
    return account;
  }

  /** Deletes the token here, and revokes it on the server if that responds. */
  async signOut(): Promise<void> {
    const kept = this.#stored;
    this.#use(undefined);
    await this.#options.secrets.delete(key);
    if (kept) await this.#revoke(kept);
  }

  #use(kept: StoredAccount): Account;
  #use(kept: StoredAccount | undefined): Account | undefined;
  #use(kept: StoredAccount | undefined): Account | undefined {
    this.#stored = kept;
    this.#current = kept && { server: kept.server, client: this.#client(kept.server, kept.token) };
    return this.#current;
  }

  async #revoke({ server, token }: StoredAccount): Promise<void> {
    const token_id = tokenIdOf(token);
    if (token_id === undefined) return;
    const params = { token_id };
    await this.#client(server, token)
      .revokeToken({ params }, { timeoutMs: 5_000 })
      .catch(() => {}); // it expires by itself
  }

  #client(baseUrl: string, token: string): Client {
    const { device, fetch } = this.#options;
    return createClient({ baseUrl, device, token: () => token, fetch });
  }
}

/** An unreadable entry counts as signed out. */
function readStored(text: string | undefined): StoredAccount | undefined {
  try {
    const { server, token } = JSON.parse(text ?? 'null') as Record<string, unknown>;
    return typeof server === 'string' && typeof token === 'string' ? { server, token } : undefined;
  } catch {
    return undefined;
  }
}
