import { englishEditor } from './english/editor.ts';
import type { InEachLanguage } from './language.ts';
import { russianEditor } from './russian/editor.ts';

/** The texts of the VS Code extension, except its chat. */
export type EditorWords = typeof englishEditor;
export const editorWords: InEachLanguage<EditorWords> = { en: englishEditor, ru: russianEditor };
