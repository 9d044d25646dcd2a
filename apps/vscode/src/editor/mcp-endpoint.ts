import { ApiError } from '@countersign/client';
import { type Disposable, EventEmitter, lm, McpHttpServerDefinition, type SecretStorage, Uri } from 'vscode';
import type { PageProject } from '../chat/messages.ts';
import type { Account } from '../connection/account.ts';
import type { Words } from '../words/words.ts';

export interface McpEndpointOptions {
  readonly account: () => Account | undefined;
  /** Of this window's folders: an agent's token is for one of them. */
  readonly projects: () => readonly PageProject[];
  readonly secrets: SecretStorage;
  readonly words: Words;
  readonly version: string;
}

interface KeptToken {
  readonly server: string;
  readonly projectId: string;
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
    const { account, projects, version } = options;
    this.#registered = lm.registerMcpServerDefinitionProvider('countersign', {
      onDidChangeMcpServerDefinitions: this.#changed.event,
      provideMcpServerDefinitions: () => {
        const current = account();
        if (!current) return [];
        const uri = Uri.parse(`${current.server}/mcp`);
        return projects().map(
          (project) => new McpHttpServerDefinition(this.#labelOf(project), uri, {}, version),
        );
      },
      // The token is made when the editor wants to connect, not before.
      resolveMcpServerDefinition: async (definition) => {
        const current = account();
        const project = projects().find((one) => this.#labelOf(one) === definition.label);
        if (!current || !project || !(definition instanceof McpHttpServerDefinition)) return undefined;
        definition.headers = { Authorization: `Bearer ${await this.#token(current, project)}` };
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

  /** Ends the tokens, while the person is still signed in. */
  async revoke({ client, server }: Account): Promise<void> {
    const kept = (await this.#kept()).filter((one) => one.server === server);
    await this.#options.secrets.delete(key);
    const revocations = kept.map(({ tokenId }) =>
      client.revokeToken({ params: { token_id: tokenId } }, { timeoutMs: 5_000 }).catch(() => {}),
    );
    await Promise.all(revocations);
  }

  /** Several folders are told apart by their names. */
  #labelOf({ name, project_id }: PageProject): string {
    const { projects, words } = this.#options;
    const { label } = words.mcp;
    if (projects().length < 2) return label;
    const isUnique = projects().filter((one) => one.name === name).length === 1;
    return `${label}: ${name}${isUnique ? '' : ` (${project_id.slice(-6)})`}`;
  }

  async #token({ client, server }: Account, { project_id }: PageProject): Promise<string> {
    const all = await this.#kept();
    const isMeant = (one: KeptToken) => one.server === server && one.projectId === project_id;
    const kept = all.find(isMeant);
    if (kept && kept.endsAt - Date.now() > dayMs && (await isGood(client, kept))) return kept.token;
    const body = {
      name: this.#options.words.mcp.token,
      scope: 'agent',
      project_id,
      expires_in_seconds: goodForSeconds,
    } as const;
    const { token, details } = await client.createToken({ body });
    const fresh: KeptToken = {
      server,
      projectId: project_id,
      token,
      tokenId: details.token_id,
      endsAt: Date.now() + goodForSeconds * 1000,
    };
    await this.#options.secrets.store(key, JSON.stringify([...all.filter((one) => !isMeant(one)), fresh]));
    return token;
  }

  async #kept(): Promise<readonly KeptToken[]> {
    try {
      const kept: unknown = JSON.parse((await this.#options.secrets.get(key)) ?? '[]');
      return Array.isArray(kept) ? kept : [];
    } catch {
      return [];
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
