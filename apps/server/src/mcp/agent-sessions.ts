import type { Store } from '@countersign/engine';
import type { AuthenticatedCaller } from '../auth/authenticator.ts';
import { newSession, storeSession } from '../http/handlers/conversation.ts';
import { latestWork, onlyProject } from '../http/own-rows.ts';

/**
 * Chooses the session for calls over MCP, which cannot name one. Calls of a token share a session, on any node, until the
 * token makes no call for the idle time. A grant "in this session" ends with the session (AP-4).
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
    const pending = this.#lookups.get(key);
    if (pending) return pending;
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
      // Undefined for a session that a person has used since.
      const latest = session && (yield* latestWork(tx, session, caller));
      return latest && latest.created_at > since ? session : undefined;
    });
    return (latest ?? (await storeSession(store, newSession(store, project, { openedBy: tokenId })))).id;
  }
}
