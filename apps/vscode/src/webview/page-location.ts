import { Observable } from '@countersign/approvals';

/** The page's current location. A webview has no address of its own. */
export class PageLocation {
  readonly hash: Observable<string>;

  constructor(hash: string) {
    this.hash = new Observable(hash);
  }

  go(hash: string): void {
    this.hash.set(hash);
  }

  /**
   * Handles clicks on the page's own links before the editor, which would search the document for them. Returns a
   * function that stops this.
   */
  takeLinks(document: Document): () => void {
    const take = (event: Event) => {
      const link = (event.target as Element | null)?.closest?.('a[href^="#/"]');
      if (!link) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      this.go(link.getAttribute('href') ?? '#/chat');
    };
    document.addEventListener('click', take, { capture: true });
    return () => document.removeEventListener('click', take, { capture: true });
  }
}
