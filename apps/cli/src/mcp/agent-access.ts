import { ScopedToken } from '@countersign/runner-client';
import { type CommandContext, usageOf } from '../command-context.ts';
import { serverAccess } from '../sign-in/server-access.ts';
import { findProject } from '../sign-in/workspace-project.ts';
import { requireServer, serverForWorkspace, withServer } from '../sign-in/workspace-server.ts';
import type { Words } from '../words.ts';

const usage = usageOf('mcp');

export interface AgentAccessOptions extends Pick<CommandContext, 'env'> {
  readonly server: string | undefined;
  readonly projectId: string | undefined;
  readonly root: string;
  /** The agent's name on approval cards. */
  readonly name: string;
  readonly words: Words;
}

/** The server for an agent's calls, and the token for them. */
export interface AgentServer {
  /** The server's address without the path. */
  readonly address: string;
  readonly token: (refused?: string) => string | Promise<string>;
}

/** Finds the server for an agent that works in a workspace. `up` may be restarted, perhaps at another address. */
export class AgentAccess {
  readonly #options: AgentAccessOptions;
  /** Tokens by address: a restarted server knows the token it issued. */
  readonly #tokens = new Map<string, ScopedToken>();

  constructor(options: AgentAccessOptions) {
    this.#options = options;
  }

  /** Throws an error that says what is missing and what to do. */
  async reach(): Promise<AgentServer> {
    const { server, root, words, env, projectId } = this.#options;
    const found = await serverForWorkspace(server, root, words, env);
    // Do not blame a missing `up` if a project was named, or if this server has worked before.
    const isKnown = projectId !== undefined || this.#tokens.has(found.address);
    const missingUp = isKnown ? undefined : found.missingUp;
    return withServer({ ...found, missingUp }, async (address) => {
      const token = this.#tokens.get(address) ?? (await this.#makeToken(address));
      this.#tokens.set(address, token);
      await requireServer(address, words);
      return { address, token: token.client.connection.token };
    });
  }

  /** Revokes the tokens that were made for this agent. */
  async revoke(): Promise<void> {
    await Promise.all([...this.#tokens.values()].map((token) => token.revoke()));
  }

  async #makeToken(address: string): Promise<ScopedToken> {
    const { root, projectId, name, words, env } = this.#options;
    const access = serverAccess(address, words, env);
    await requireServer(address, words);
    const project = await findProject(access.client, { root, projectId, inside: true }, words, usage);
    if (!project) throw usage(words.server.noProject(root));
    const token = new ScopedToken(access, { name, scope: 'agent', project_id: project.project_id });
    await token.client.connection.token(); // report an invalid name here, not to the agent
    return token;
  }
}
