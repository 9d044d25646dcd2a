import { languageFor } from '@countersign/words';
import { editorWords, type EditorWords as Words } from '@countersign/words/editor';

export type { Words };

/** The extension's texts in the editor's language, or in English if there is no translation. */
export const wordsFor = (language: string): Words => editorWords[languageFor([language])];
