import type { Client } from '@countersign/client';

/** Titles of a project's conversations, loaded when an unknown one is asked for. */
export class SessionTitles {
  readonly #client: Pick<Client, 'listSessions'>;
  readonly #projectId: string;
  readonly #onChange: () => void;
  readonly #titles = new Map<string, string>();
  readonly #asked = new Set<string>();

  constructor(client: Pick<Client, 'listSessions'>, projectId: string, onChange: () => void) {
    this.#client = client;
    this.#projectId = projectId;
    this.#onChange = onChange;
  }

  /** The title; the end of the session's id while it is loading or if it has none. */
  of(sessionId: string): string {
    const title = this.#titles.get(sessionId) ?? '';
    if (title === '' && !this.#asked.has(sessionId)) void this.#read(sessionId);
    return title === '' ? sessionId.slice(-8) : title;
  }

  async #read(sessionId: string): Promise<void> {
    this.#asked.add(sessionId);
    try {
      const { sessions } = await this.#client.listSessions({ params: { project_id: this.#projectId } });
      for (const { session_id, title } of sessions) this.#titles.set(session_id, title);
      this.#onChange();
    } catch {
      this.#asked.delete(sessionId); // retried with the next drawing
    }
  }
}
