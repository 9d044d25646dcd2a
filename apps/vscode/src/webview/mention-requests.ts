import type { FromPage, PageMention, ToPage } from '../chat/messages.ts';

/** Asks the extension which files a message can mention. */
export class MentionRequests {
  readonly #post: (message: FromPage) => void;
  readonly #waiting = new Map<number, (mentions: readonly PageMention[]) => void>();
  #ids = 0;

  constructor(post: (message: FromPage) => void) {
    this.#post = post;
  }

  find(projectId: string, typed: string): Promise<readonly PageMention[]> {
    this.#ids += 1;
    const id = this.#ids;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#post({ type: 'find-mentions', id, projectId, typed });
    });
  }

  receive({ id, mentions }: Extract<ToPage, { type: 'mentions' }>): void {
    this.#waiting.get(id)?.(mentions);
    this.#waiting.delete(id);
  }
}
