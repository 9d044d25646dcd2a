import { createContext, useContext } from 'react';
import type { ComposerInserts } from './composer-inserts.ts';

/** A file, or lines of one, that a message can mention. */
export interface Mention {
  /** The text in the message: `@src/main.ts`, or `@src/main.ts#L3-9`. */
  readonly text: string;
  /** Says what the mention is if it is not simply a file, for example the selection. */
  readonly detail: string;
}

/** The functions of the editor around this page. In a browser there is no editor. */
export interface HostEditor {
  /** Shows a file change in the editor's own diff. */
  openDiff(approvalId: string): void;
  /** Inserts text at the cursor of the active editor. */
  insertCode(text: string): void;
  /** The files of the workspace that match the text after `@`, best first. */
  findMentions(typed: string): Promise<readonly Mention[]>;
  /** Text that commands of the editor put into the message field. */
  readonly inserts: ComposerInserts;
}

const HostEditorContext = createContext<HostEditor | null>(null);
export const HostEditorProvider = HostEditorContext.Provider;

/** Null in a browser. */
export const useHostEditor = (): HostEditor | null => useContext(HostEditorContext);
