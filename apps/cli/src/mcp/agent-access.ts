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
  /** Of the agent, as the person reads it. */
  readonly name: string;
  readonly words: Words;
}

/** Where an agent's calls go, and the token that they go with. */
export interface Reached {
  /** Of the server, without the path. */
  readonly address: string;
  readonly token: (refused?: string) => string | Promise<string>;
}

/** The server of a workspace for an agent that works there; `up` may be started again, perhaps at another address. */
export class AgentAccess {
  readonly #options: AgentAccessOptions;
  /** By address: a server that comes back knows the token that it gave. */
  readonly #tokens = new Map<string, ScopedToken>();

  constructor(options: AgentAccessOptions) {
    this.#options = options;
  }

  /** Throws what is missing, and what to do. */
  async reach(): Promise<Reached> {
    const { server, root, words, env } = this.#options;
    return withServer(await serverForWorkspace(server, root, words, env), async (address) => {
      const token = this.#tokens.get(address) ?? (await this.#makeToken(address));
      this.#tokens.set(address, token);
      await requireServer(address, words);
      return { address, token: token.client.connection.token };
    });
  }

  /** Ends what was made for this agent. */
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
    await token.client.connection.token(); // a name that cannot be is said here, not to the agent
    return token;
  }
}
