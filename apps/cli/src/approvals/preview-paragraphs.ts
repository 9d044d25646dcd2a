import type { Preview } from '@countersign/protocol';
import type { Paragraph } from '../screen/paragraph.ts';
import type { Words } from '../words.ts';

type FileDiff = Extract<Preview, { kind: 'diff' }>['files'][number];

/** What will happen, as a person reads it: a coloured diff, a parsed command, the file that goes, the commits. */
export function previewParagraphs(preview: Preview, { card, said }: Words): Paragraph[] {
  switch (preview.kind) {
    case 'diff':
      return preview.files.flatMap((file, i) => [...(i > 0 ? [blank] : []), ...fileParagraphs(file, card)]);
    case 'delete':
      return [
        { text: card.deletes(preview.path, preview.size), style: 'red' },
        ...(preview.head === ''
          ? [{ text: card.emptyFile, style: 'dim' as const }]
          : linesOf(preview.head).map((text) => ({
              text,
              lead: '- ',
              leadStyle: 'red' as const,
              style: 'red' as const,
            }))),
      ];
    case 'directory':
      return [{ text: card.makesFolder(preview.path) }];
    case 'command':
      return [
        ...preview.commands.map((words, i) => ({
          ...labelled(i === 0 ? card.runs : '', words.map((word) => shown(word, card)).join(' ')),
          style: 'bold' as const,
        })),
        labelled(card.inFolder, preview.cwd === '' ? '.' : preview.cwd),
        ...(preview.scripts.length > 0 ? [labelled(card.executes, preview.scripts.join('  '))] : []),
        ...(preview.network ? [] : [labelled('', card.noNetwork)]),
        ...(preview.reversible ? [] : [{ ...labelled('', card.irreversible), style: 'yellow' as const }]),
      ];
    case 'commit':
      return [
        labelled(card.message, preview.message),
        ...hooksOf(preview.hooks, card),
        ...preview.files.flatMap((file) => [blank, ...fileParagraphs(file, card)]),
      ];
    case 'push':
      return [
        { text: card.pushes(preview.branch, preview.remote), style: 'bold' },
        { text: preview.url },
        ...hooksOf(preview.hooks, card),
        { text: card.commits(preview.commits.length), style: 'dim' },
        ...preview.commits.map(({ id, subject, author }) => ({
          lead: `${id.slice(0, 8)}  `,
          leadStyle: 'cyan' as const,
          text: `${subject}  (${author})`,
        })),
      ];
    case 'custom':
      return customParagraphs(preview, card);
    case 'summary':
      return [{ text: preview.summary }];
    case 'unavailable':
      return [{ text: card.unavailable(said(preview.reason)), style: 'yellow' }];
  }
}

function customParagraphs(
  { server, tool, summary, runs, network, hints }: Extract<Preview, { kind: 'custom' }>,
  card: Words['card'],
): Paragraph[] {
  return [
    {
      text: tool === undefined ? card.customTool(server) : `${card.customTool(server)}: ${tool}`,
      style: 'dim',
    },
    { text: summary },
    ...(runs === undefined ? [] : [labelled(card.runs, runs)]),
    ...(network === false ? [labelled('', card.noNetwork)] : []),
    ...(hints?.includes('read_only') ? [labelled('', card.saysReadOnly)] : []),
    ...(hints?.includes('destructive')
      ? [{ ...labelled('', card.saysDestructive), style: 'yellow' as const }]
      : []),
    ...(runs === undefined ? [] : [labelled('', card.itsProgram)]),
  ];
}

/**
 * A unified diff with its signs in colour. The names of the files stand above it already: their lines, which stand
 * before the first hunk, are left out. In a hunk `+++x` is a line that adds `++x`.
 */
function diffParagraphs(diff: string): Paragraph[] {
  const lines = linesOf(diff);
  const firstHunk = lines.findIndex((line) => line.startsWith('@@'));
  return lines
    .filter((line, i) => i >= firstHunk || !/^(---|\+\+\+) /.test(line))
    .map((line): Paragraph => {
      const [sign, rest] = [line.charAt(0), line.slice(1)];
      if (line.startsWith('@@')) return { text: line, style: 'cyan' };
      if (sign === '+') return { lead: '+ ', leadStyle: 'green', text: rest, style: 'green' };
      if (sign === '-') return { lead: '- ', leadStyle: 'red', text: rest, style: 'red' };
      // What git says about the file itself stands without a sign: "Binary files … differ".
      return sign === ' ' ? { lead: '  ', text: rest } : { lead: '  ', text: line, style: 'dim' };
    });
}

function fileParagraphs(file: FileDiff, card: Words['card']): Paragraph[] {
  const facts = [
    card.operation[file.operation] ?? file.operation,
    card.bytes(file.size_before, file.size_after),
    ...(file.unsaved === true ? [card.unsaved] : []),
  ];
  return [
    { text: file.path, style: 'bold' },
    { text: facts.join(' · '), style: 'dim' },
    ...(file.diff === '' ? [{ text: card.sameContent, style: 'dim' as const }] : diffParagraphs(file.diff)),
    ...(file.truncated ? [{ text: card.cut, style: 'yellow' as const }] : []),
  ];
}

const hooksOf = (hooks: readonly string[], card: Words['card']): Paragraph[] =>
  hooks.length === 0 ? [] : [{ ...labelled(card.hooks, hooks.join('  ')), style: 'yellow' }];

/** A word of a command as a shell would take it back. */
function shown(word: string | null, card: Words['card']): string {
  if (word === null) return card.unknownWord;
  return word !== '' && /^[\p{L}\p{N}_@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

const labelColumns = 12;

export const labelled = (label: string, text: string): Paragraph => ({
  lead: label.padEnd(labelColumns),
  leadStyle: 'dim',
  text,
});

const linesOf = (text: string): string[] => (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n');

const blank: Paragraph = { text: '' };
