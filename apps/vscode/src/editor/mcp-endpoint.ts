import { ApiError } from '@countersign/client';
import { type Disposable, EventEmitter, lm, McpHttpServerDefinition, type SecretStorage, Uri } from 'vscode';
import type { Account } from '../connection/account.ts';
import type { Words } from '../words/words.ts';

export interface McpEndpointOptions {
  readonly account: () => Account | undefined;
  readonly secrets: SecretStorage;
  readonly words: Words;
  readonly version: string;
}

interface KeptToken {
  readonly server: string;
  readonly token: string;
  readonly tokenId: string;
  readonly endsAt: number;
}

const key = 'countersign.mcp';
const goodForSeconds = 7 * 24 * 3600;
const dayMs = 24 * 3600 * 1000;

/**
 * Offers the server's MCP endpoint to the editor's own agent: it can use the tools, and every call is validated,
 * assessed and asked about as any other (UI-5). Its token is an agent's: it can decide nothing (AP-9).
 */
export class McpEndpoint implements Disposable {
  readonly #options: McpEndpointOptions;
  readonly #changed = new EventEmitter<void>();
  readonly #registered: Disposable;

  constructor(options: McpEndpointOptions) {
    this.#options = options;
    const { account, words, version } = options;
    this.#registered = lm.registerMcpServerDefinitionProvider('countersign', {
      onDidChangeMcpServerDefinitions: this.#changed.event,
      provideMcpServerDefinitions: () => {
        const current = account();
        return current
          ? [new McpHttpServerDefinition(words.mcp.label, Uri.parse(`${current.server}/mcp`), {}, version)]
          : [];
      },
      // The token is made when the editor wants to connect, not before.
      resolveMcpServerDefinition: async (definition) => {
        const current = account();
        if (!current || !(definition instanceof McpHttpServerDefinition)) return undefined;
        definition.headers = { Authorization: `Bearer ${await this.#token(current)}` };
        return definition;
      },
    });
  }

  dispose(): void {
    this.#registered.dispose();
    this.#changed.dispose();
  }

  /** Another account, or none. */
  update(): void {
    this.#changed.fire();
  }

  /** Ends the token, while the person is still signed in. */
  async revoke({ client, server }: Account): Promise<void> {
    const kept = await this.#kept();
    await this.#options.secrets.delete(key);
    if (kept?.server !== server) return;
    await client.revokeToken({ params: { token_id: kept.tokenId } }, { timeoutMs: 5_000 }).catch(() => {});
  }

  async #token({ client, server }: Account): Promise<string> {
    const kept = await this.#kept();
    if (kept?.server === server && kept.endsAt - Date.now() > dayMs && (await isGood(client, kept)))
      return kept.token;
    const body = {
      name: this.#options.words.mcp.token,
      scope: 'agent',
      expires_in_seconds: goodForSeconds,
    } as const;
    const { token, details } = await client.createToken({ body });
    const fresh: KeptToken = {
      server,
      token,
      tokenId: details.token_id,
      endsAt: Date.now() + goodForSeconds * 1000,
    };
    await this.#options.secrets.store(key, JSON.stringify(fresh));
    return token;
  }

  async #kept(): Promise<KeptToken | undefined> {
    try {
      return JSON.parse((await this.#options.secrets.get(key)) ?? 'null') ?? undefined;
    } catch {
      return undefined;
    }
  }
}

/** Whether nobody has revoked it meanwhile. */
async function isGood(client: Account['client'], { tokenId }: KeptToken): Promise<boolean> {
  try {
    const { tokens } = await client.listTokens();
    return tokens.some(({ token_id, revoked_at }) => token_id === tokenId && revoked_at === null);
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
}
