import { codeInOptions } from './code-options.ts';
import { type ExecutedByCall, executedBy } from './executed-files.ts';
import { type FileUse, fileOperands, looksLikePath, unpackTarget } from './file-operands.ts';
import { filesOfFind, innerCallsOfFind, isFind, readFound } from './find/find-call.ts';
import { innerCallsOfGit } from './git/git-call.ts';
import type { InnerCall } from './inner-call.ts';
import { isInterpreter, isShell } from './interpreters.ts';
import { manuals } from './manuals.ts';
import { UNKNOWN } from './marks.ts';
import { isFetcher, needsNetwork, savedFiles } from './network.ts';
import { type Note, Notes } from './notes.ts';
import { openWrapper, type WrappedCall } from './wrappers.ts';

/** What one program call does, as far as its words tell. Each part is worked out when it is asked for. */
export interface ProgramReading {
  /** Files that it reads and writes, as they are written; one list, so that a card shows them in this order. */
  readonly files: readonly FileUse[];
  /** Files whose content it executes. */
  readonly runs: readonly ExecutedByCall[];
  /** Directories that an archive unpacks into: what it holds decides which files are written there. */
  readonly unpacksInto: readonly string[];
  /** Whether it cannot do its work without network. */
  readonly network: boolean;
  /** What it executes in turn: programs, lines for a shell, code. */
  readonly innerCalls: readonly InnerCall[];
  /**
   * What its manual says of each word, in order, for execute_command. Without a manual, each word may be a path.
   */
  readonly notes: readonly Note[];
  /** How it starts the program in its words, where that is all it does: `env A=b program`. */
  readonly wrapper: WrappedCall | undefined;
}

/**
 * Reads the words of any program, also of one whose manual we do not have: in doubt a word is a file, and an option
 * takes no value. `contentOf` tells what a file is known to hold. The programs of execute_command are read by the
 * same modules, with tables from their manuals (docs/decisions/0021).
 */
export function readProgram(
  [name = '', ...args]: readonly string[],
  contentOf: (file: string) => string = () => UNKNOWN,
): ProgramReading {
  return {
    get notes() {
      const manual = manuals.get(name);
      const notes = new Notes(manual);
      if (manual) manual.read(args, notes);
      else notes.unknownWords(args);
      return notes.list;
    },
    get files() {
      if (isFind(name)) return filesOfFind(readFound(name, args, contentOf));
      if (manuals.get(name)?.inShell) return filesInNotes(this.notes);
      return [...fileOperands(name, args), ...(isFetcher(name, args) ? savedFiles(name, args) : [])];
    },
    get unpacksInto() {
      if (manuals.get(name)?.inShell) return unpackedInNotes(this.notes);
      return unpackTarget(name, args);
    },
    get runs() {
      return executedBy(name, args);
    },
    get network() {
      return needsNetwork(name, args);
    },
    get innerCalls() {
      return [
        ...codeInOptions(name, args).map((code): InnerCall => ({ code, certainty: 'possible' })),
        ...(name === 'git' ? innerCallsOfGit(args) : []),
        ...(isFind(name) ? innerCallsOfFind(readFound(name, args, contentOf)) : []),
        ...(this.wrapper?.calls ?? []),
      ];
    },
    get wrapper() {
      // `bun x` is read as an interpreter's script, not as a wrapper's program.
      return isShell(name) || isInterpreter(name) ? undefined : openWrapper(name, args);
    },
  };
}

/** The files in the notes of a manual, in their order. `-C` is left to the shell's own directory. */
function filesInNotes(notes: readonly Note[]): readonly FileUse[] {
  const unpacked = unpackedInNotes(notes).map((path): FileUse => ({ path, use: 'write' }));
  const named = notes.flatMap((note): FileUse[] => {
    if (note.kind === 'path' || note.kind === 'directory') return [{ path: note.text, use: note.use }];
    const isPattern = note.kind === 'pattern' || (note.kind === 'maybe path' && looksLikePath(note.text));
    return isPattern ? [{ path: note.text, use: 'read' }] : [];
  });
  return [...unpacked, ...named];
}

function unpackedInNotes(notes: readonly Note[]): readonly string[] {
  let directory = '.';
  return notes.flatMap((note) => {
    const from = note.fromStart ? '.' : directory;
    if (note.kind !== 'directory' && note.kind !== 'unpack') return [];
    const place =
      note.text === '.'
        ? from
        : note.text.startsWith('/') || from === '.'
          ? note.text
          : `${from}/${note.text}`;
    if (note.kind === 'unpack') return [place];
    directory = place;
    return [];
  });
}
