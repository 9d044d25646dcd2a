import { languageFor } from '@countersign/words';
import { editorWords, type EditorWords as Words } from '@countersign/words/editor';

export type { Words };

/** The words of the editor's own language; English where we do not have it. */
export const wordsFor = (language: string): Words => editorWords[languageFor([language])];
