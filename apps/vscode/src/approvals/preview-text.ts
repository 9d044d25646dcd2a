import type { Preview } from '@countersign/protocol';
import type { ApprovalRequest } from '@countersign/tool-runner';
import type { Words } from '../words/words.ts';

type FileDiff = Extract<Preview, { kind: 'diff' }>['files'][number];

/** What will happen and why the person is asked, as plain text for a dialog. Everything hidden is visible already. */
export function requestText({ preview, reasons }: ApprovalRequest, words: Words): string {
  const what = preview ? previewText(preview, words) : words.preview.pending;
  if (reasons.length === 0) return what;
  return `${what}\n\n${words.preview.reasons}:\n${reasons.map(({ why }) => `• ${why}`).join('\n')}`;
}

export function previewText(preview: Preview, { preview: words }: Words): string {
  switch (preview.kind) {
    case 'diff':
      return preview.files.map((file) => fileText(file, words)).join('\n');
    case 'delete':
      return lines(
        words.deletes(preview.path, preview.size),
        preview.head === '' ? words.emptyFile : preview.head,
      );
    case 'directory':
      return words.makesFolder(preview.path);
    case 'command':
      return lines(
        ...preview.commands.map(
          (parts) => `${words.runs}: ${parts.map((word) => shown(word, words)).join(' ')}`,
        ),
        `${words.in} ${preview.cwd === '' ? '.' : preview.cwd} · ${preview.network ? words.network : words.noNetwork}${preview.reversible ? '' : ` · ${words.irreversible}`}`,
        preview.scripts.length > 0 && `${words.executes} ${preview.scripts.join('  ')}`,
      );
    case 'commit':
      return lines(
        words.commit(preview.message),
        preview.hooks.length > 0 && `${words.hooks} ${preview.hooks.join('  ')}`,
        ...preview.files.map((file) => fileText(file, words)),
      );
    case 'push':
      return lines(
        words.push(preview.branch, preview.remote, preview.url),
        preview.hooks.length > 0 && `${words.hooks} ${preview.hooks.join('  ')}`,
        ...preview.commits.map(({ id, subject, author }) => `${id.slice(0, 8)}  ${subject}  (${author})`),
      );
    case 'custom':
      return lines(words.custom(preview.server), preview.summary);
    case 'summary':
      return preview.summary;
    case 'unavailable':
      return preview.reason;
  }
}

function fileText(file: FileDiff, words: Words['preview']): string {
  return lines(
    `${file.path}${file.unsaved ? ` (${words.unsaved})` : ''}`,
    file.diff.trimEnd(),
    file.truncated && words.truncated,
  );
}

/** A word of a command as a shell would take it back. */
function shown(word: string | null, words: Words['preview']): string {
  if (word === null) return words.unknownWord;
  return word !== '' && /^[\p{L}\p{N}_@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

const lines = (...parts: (string | false)[]): string => parts.filter((part) => part !== false).join('\n');
