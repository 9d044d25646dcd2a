import type { Store } from '@countersign/engine';
import type { AuthenticatedCaller } from '../auth/authenticator.ts';
import { keepSession, newSession } from '../http/handlers/conversation.ts';
import { latestWork, onlyProject } from '../http/own-rows.ts';

/**
 * The sessions of agents over MCP, where a call cannot name one: calls of a token that follow each other within the idle
 * time share a session, on any node. A grant "in this session" ends with it (AP-4).
 */
export class AgentSessions {
  readonly #store: Store;
  readonly #idleMs: number;
  /** Concurrent calls of a token share one look-up. */
  readonly #lookups = new Map<string, Promise<string>>();

  constructor(store: Store, idleMs: number) {
    this.#store = store;
    this.#idleMs = idleMs;
  }

  /** The id of the session that this token works in now. */
  current(caller: AuthenticatedCaller): Promise<string> {
    const key = JSON.stringify([caller.userId, caller.tokenId]);
    const underWay = this.#lookups.get(key);
    if (underWay) return underWay;
    const found = this.#find(caller).finally(() => this.#lookups.delete(key));
    this.#lookups.set(key, found);
    return found;
  }

  async #find(caller: AuthenticatedCaller): Promise<string> {
    const store = this.#store;
    const { userId, tokenId } = caller;
    const project = await onlyProject(store, caller);
    const since = store.now() - this.#idleMs;
    const latest = await store.read(function* (tx) {
      const session = yield* tx.sessionOpenedBy(userId, project.id, tokenId);
      // Not a session that a person has used since.
      const latest = session && (yield* latestWork(tx, session, caller));
      return latest && latest.created_at > since ? session : undefined;
    });
    const openedBy = tokenId;
    return (latest ?? (await keepSession(store, newSession(store, project, { openedBy })))).id;
  }
}
