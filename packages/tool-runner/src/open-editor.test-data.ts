import { readFileSync, writeFileSync } from 'node:fs';
import type { OpenDocuments } from './open-documents.ts';

/** An editor's open documents over real files: what is unsaved is only here, and saving writes the file. */
export class OpenEditor implements OpenDocuments {
  readonly #buffers = new Map<string, { text: string; isUnsaved: boolean }>();
  /** What a formatter makes of a text when it is saved. */
  format = (text: string): string => text;
  /** How often something was replaced: each can be undone by itself. */
  replacements = 0;

  /** As a person does it: with no changes, or with what they type. */
  open(path: string, typed?: string): void {
    this.#buffers.set(path, { text: typed ?? readFileSync(path, 'utf8'), isUnsaved: typed !== undefined });
  }

  textOf(path: string): string | undefined {
    return this.#buffers.get(path)?.text;
  }

  list() {
    return [...this.#buffers].map(([path, { text, isUnsaved }]) => ({ path, isUnsaved, text: () => text }));
  }

  async replace(path: string, { expected, text }: { expected: string; text: string }): Promise<boolean> {
    const buffer = this.#buffers.get(path);
    if (!buffer || buffer.text !== expected) return false;
    this.replacements += 1;
    const saved = this.format(text);
    this.#buffers.set(path, { text: saved, isUnsaved: false });
    writeFileSync(path, saved);
    return true;
  }
}
