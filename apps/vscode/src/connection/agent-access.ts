import type { PageProject } from '../chat/messages.ts';
import type { Account, SecretStore } from './account.ts';

export interface AgentAccessOptions {
  readonly secrets: SecretStore;
  /** The agent's name on approvals. */
  readonly name: string;
  /** Asks the person whether to restore access that was revoked. */
  readonly mayRestore: (project: PageProject) => Promise<boolean>;
}

interface KeptToken {
  readonly server: string;
  readonly projectId: string;
  readonly token: string;
  readonly tokenId: string;
  /** Milliseconds since 1970. */
  readonly endsAt: number;
}

const key = 'countersign.mcp';
const lifetimeSeconds = 7 * 24 * 3600;
/** A token is replaced this long before it expires. */
const renewBeforeMs = 24 * 3600 * 1000;

/**
 * The tokens with which the editor's own agent uses a folder's tools. They have an agent's scope, so they cannot decide
 * approvals (AP-9). After a token is revoked, the agent has no access until the person allows it again.
 */
export class AgentAccess {
  readonly #options: AgentAccessOptions;

  constructor(options: AgentAccessOptions) {
    this.#options = options;
  }

  /** Returns undefined if the person denies access. Throws if the server cannot say whether the token was revoked. */
  async tokenFor({ client, server }: Account, project: PageProject): Promise<string | undefined> {
    const { project_id } = project;
    const kept = (await this.#kept()).find((one) => one.server === server && one.projectId === project_id);
    if (kept) {
      const { tokens } = await client.listTokens({}, { retry: { times: 1 } });
      const isRevoked = !tokens.some(
        ({ token_id, revoked_at }) => token_id === kept.tokenId && revoked_at === null,
      );
      if (isRevoked && !(await this.#options.mayRestore(project))) return undefined;
      if (!isRevoked && kept.endsAt - Date.now() > renewBeforeMs) return kept.token;
    }
    const body = {
      name: this.#options.name,
      scope: 'agent',
      project_id,
      expires_in_seconds: lifetimeSeconds,
    } as const;
    const { token, details } = await client.createToken({ body });
    const endsAt = Date.now() + lifetimeSeconds * 1000;
    const others = (await this.#kept()).filter(
      (one) => one.server !== server || one.projectId !== project_id,
    );
    await this.#keep([
      ...others,
      { server, projectId: project_id, token, tokenId: details.token_id, endsAt },
    ]);
    return token;
  }

  /** Revokes the tokens of a server. The person must still be signed in there. */
  async revoke({ client, server }: Account): Promise<void> {
    const all = await this.#kept();
    await this.#keep(all.filter((one) => one.server !== server));
    const revocations = all
      .filter((one) => one.server === server)
      .map(({ tokenId }) =>
        client.revokeToken({ params: { token_id: tokenId } }, { timeoutMs: 5_000 }).catch(() => {}),
      );
    await Promise.all(revocations);
  }

  async #keep(tokens: readonly KeptToken[]): Promise<void> {
    const { secrets } = this.#options;
    if (tokens.length === 0) await secrets.delete(key);
    else await secrets.store(key, JSON.stringify(tokens));
  }

  /** An unreadable entry counts as absent. */
  async #kept(): Promise<readonly KeptToken[]> {
    try {
      const kept: unknown = JSON.parse((await this.#options.secrets.get(key)) ?? '[]');
      return Array.isArray(kept) ? kept : [];
    } catch {
      return [];
    }
  }
}
