import { Observable } from '@countersign/ui';

/** Where the page is in the chat. Its address never changes: an editor's webview has none of its own. */
export class PageLocation {
  readonly hash: Observable<string>;

  constructor(hash: string) {
    this.hash = new Observable(hash);
  }

  go(hash: string): void {
    this.hash.set(hash);
  }

  /** Takes clicks on our own links before the editor does, which would look for them in the document. Answers an end. */
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
