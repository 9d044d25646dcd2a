import type { Preview } from '@countersign/protocol';
import type { FileDiff } from './file-diff.ts';

/** Characters of everything that a preview shows: at most 3 bytes each, so that a body of 8 MiB has room for them. */
const MAX_CHARACTERS = 1_500_000;
/** Hooks or scripts of one preview. Files and commits are bounded already, by `limits.entries`. */
const MAX_ENTRIES = 1_000;
/** Words of all commands of one preview: a body has room for 50,000 values. */
const MAX_WORDS = 20_000;

/**
 * The preview within what the server takes, whatever the call names. What is left out is said in its place, so that a
 * person who approves sees that there is more.
 */
export function fitPreview(preview: Preview): Preview {
  const room = new Room();
  switch (preview.kind) {
    case 'diff':
      return { ...preview, files: room.files(preview.files) };
    case 'commit':
      return {
        ...preview,
        hooks: room.list(preview.hooks, 'hooks'),
        message: room.text(preview.message),
        files: room.files(preview.files),
      };
    case 'push':
      return {
        ...preview,
        hooks: room.list(preview.hooks, 'hooks'),
        commits: preview.commits.map(({ id, subject, author }) => ({
          id,
          subject: room.text(subject),
          author: room.text(author),
        })),
      };
    case 'command':
      return {
        ...preview,
        commands: room.commands(preview.commands),
        scripts: room.list(preview.scripts, 'scripts'),
      };
    case 'custom':
      return {
        ...preview,
        summary: room.text(preview.summary),
        ...(preview.runs !== undefined && { runs: room.text(preview.runs) }),
      };
    default:
      return preview;
  }
}

/** How much can still be shown. Half of what is left is the most that one text takes. */
class Room {
  #left = MAX_CHARACTERS;

  text(text: string): string {
    const most = Math.floor(this.#left / 2);
    const shown =
      text.length <= most
        ? text
        : `${text.slice(0, most).toWellFormed()}⟨${text.length - most} more characters⟩`;
    this.#left = Math.max(0, this.#left - shown.length);
    return shown;
  }

  list(texts: readonly string[], what: string): string[] {
    const shown = texts.slice(0, MAX_ENTRIES).map((text) => this.text(text));
    const more = texts.length - shown.length;
    return more > 0 ? [...shown, `⟨and ${more} more ${what}⟩`] : shown;
  }

  files(files: readonly FileDiff[]): FileDiff[] {
    return files.map((file) => {
      const path = this.text(file.path);
      const most = Math.floor(this.#left / 2);
      const isWhole = file.diff.length <= most;
      const shown = isWhole ? file.diff : file.diff.slice(0, file.diff.lastIndexOf('\n', most) + 1);
      this.#left -= shown.length;
      if (isWhole) return { ...file, path };
      return { ...file, path, diff: `${shown}\\ The rest of this file is not shown\n`, truncated: true };
    });
  }

  commands(commands: readonly (readonly (string | null)[])[]): (string | null)[][] {
    let words = 0;
    const shown: (string | null)[][] = [];
    for (const command of commands) {
      const kept = command.slice(0, Math.max(0, MAX_WORDS - words - shown.length));
      words += kept.length;
      if (kept.length > 0) shown.push(kept.map((word) => (word === null ? null : this.text(word))));
      if (kept.length < command.length) break;
    }
    const more = commands.reduce((sum, { length }) => sum + length, 0) - words;
    return more > 0 ? [...shown, [`⟨and ${more} more words⟩`]] : shown;
  }
}
