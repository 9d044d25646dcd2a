import { type Disposable, EventEmitter, lm, McpHttpServerDefinition, type SecretStorage, Uri } from 'vscode';
import type { PageProject } from '../chat/messages.ts';
import type { Account } from '../connection/account.ts';
import { AgentAccess } from '../connection/agent-access.ts';
import type { Words } from '../words.ts';
import { deliberateAnswer } from './deliberate-answer.ts';

export interface McpEndpointOptions {
  readonly account: () => Account | undefined;
  /** The projects of this window's folders: each agent token is bound to one. */
  readonly projects: () => readonly PageProject[];
  readonly secrets: SecretStorage;
  readonly words: Words;
  readonly version: string;
}

/**
 * Offers the server's MCP endpoint to the editor's own agent. The agent's calls are validated, assessed and approved
 * like any others (UI-5).
 */
export class McpEndpoint implements Disposable {
  readonly #options: McpEndpointOptions;
  readonly #access: AgentAccess;
  readonly #changed = new EventEmitter<void>();
  readonly #registered: Disposable;

  constructor(options: McpEndpointOptions) {
    this.#options = options;
    const { account, projects, secrets, words, version } = options;
    this.#access = new AgentAccess({
      secrets,
      name: words.mcp.token,
      mayRestore: async ({ name }) => {
        const { revoked, revokedDetail, giveBack } = words.mcp;
        return (await deliberateAnswer(revoked(name), revokedDetail, giveBack)) === giveBack;
      },
    });
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
      // Create the token only when the editor connects.
      resolveMcpServerDefinition: async (definition) => {
        const current = account();
        const project = projects().find((one) => this.#labelOf(one) === definition.label);
        if (!current || !project || !(definition instanceof McpHttpServerDefinition)) return undefined;
        const token = await this.#access.tokenFor(current, project);
        if (token === undefined) return undefined;
        definition.headers = { Authorization: `Bearer ${token}` };
        return definition;
      },
    });
  }

  dispose(): void {
    this.#registered.dispose();
    this.#changed.dispose();
  }

  /** Must be called after signing in or out. */
  update(): void {
    this.#changed.fire();
  }

  /** Revokes the agent's tokens. The person must still be signed in. */
  revoke(account: Account): Promise<void> {
    return this.#access.revoke(account);
  }

  /** If the window has several folders, the label contains the folder's name. */
  #labelOf({ name, project_id }: PageProject): string {
    const { projects, words } = this.#options;
    const { label } = words.mcp;
    if (projects().length < 2) return label;
    const isUnique = projects().filter((one) => one.name === name).length === 1;
    return `${label}: ${name}${isUnique ? '' : ` (${project_id.slice(-6)})`}`;
  }
}
