import type { Limits } from '@countersign/protocol';
import type { OpenDocuments } from './open-documents.ts';

/** The folder that a runner works in, and the folder for the runner's own state. */
export interface Workspace {
  /** Absolute, links resolved. */
  readonly root: string;
  /** Outside the root, for this person only (0700): journal, undo copies, temporary files of isolation. */
  readonly stateFolder: string;
  readonly limits: Limits;
  /** The person's home directory: never visible to a command, needed to understand `~`. */
  readonly home: string;
  /** Names of environment variables that the person lets commands see, besides those of VA-7. */
  readonly addedEnvironment: readonly string[];
  /** The ripgrep to search with; our own by default. */
  readonly ripgrep?: string;
  /** Documents that are open in the editor that contains this runner; undefined elsewhere. */
  readonly documents?: OpenDocuments;
}
