import { isGitData, parseUnifiedDiff, sizeText } from '@countersign/approvals';
import { type Effect, type EffectDiffs, type TrialEffects, visibleName } from '@countersign/tool-runner';
import { layOut, type Paragraph } from '../screen/paragraph.ts';
import type { Words } from '../words.ts';

/** What can be read in one sitting. `--json` has more. */
const MAX_ENTRIES = 200;
const MAX_LINES = 1_000;
const MAX_LINES_OF_FILE = 60;
const MAX_LINES_OF_DELETED = 10;

interface Look {
  readonly diffs: Pick<EffectDiffs, 'of'>;
  readonly words: Words['try'];
  readonly columns: number;
  readonly color: boolean;
}

/** How many entries a command changed, created and deleted. */
export function countsOf(effects: readonly Effect[]): [changed: number, created: number, deleted: number] {
  const count = (...kinds: readonly Effect['change'][]): number =>
    effects.filter(({ change }) => kinds.includes(change)).length;
  return [count('modified', 'mode'), count('created'), count('deleted')];
}

/** The effects of a tried command as lines of a terminal: deletions first, each file with its diff, all of it bounded. */
export function effectLines({ effects, withheld, conflicts, leftOut }: TrialEffects, look: Look): string[] {
  const { words, columns, color } = look;
  const shown = effects.filter(({ path }) => !isGitData(path));
  const git = effects.length - shown.length;
  const room = { entries: MAX_ENTRIES, lines: MAX_LINES };
  const of = (...kinds: readonly Effect['change'][]) => shown.filter(({ change }) => kinds.includes(change));
  const changed = of('modified', 'mode');
  const paragraphs: Paragraph[] = [
    ...section(words.deleted, 'red', foldersOnce(of('deleted'), words), MAX_LINES_OF_DELETED, look, room),
    ...section(words.changed, 'bold', changed.map(single), MAX_LINES_OF_FILE, look, room),
    ...section(
      words.created,
      'green',
      withoutFilledFolders(of('created')).map(single),
      MAX_LINES_OF_FILE,
      look,
      room,
    ),
    ...(git > 0 ? [{ text: words.gitData(git), style: 'dim' as const }] : []),
    ...list(words.withheld, withoutFilledFolders(withheld), words),
    ...list(words.conflicts, withoutFilledFolders(conflicts), words),
    ...list(
      words.leftOut,
      leftOut.map((path) => ({ path })),
      words,
    ),
  ];
  return layOut(paragraphs, columns, color);
}

interface Shown {
  readonly effect: Effect;
  readonly note?: string;
}

const single = (effect: Effect): Shown => ({ effect });

/** A deleted folder stands for what was in it. */
function foldersOnce(deleted: readonly Effect[], words: Words['try']): Shown[] {
  const inside = new Map(
    deleted.filter(({ before }) => before?.type === 'directory').map(({ path }) => [path, 0]),
  );
  const outermost = deleted.filter(({ path }) => {
    let folder: string | undefined;
    for (let at = path.indexOf('/'); at > 0 && folder === undefined; at = path.indexOf('/', at + 1))
      if (inside.has(path.slice(0, at))) folder = path.slice(0, at);
    if (folder !== undefined) inside.set(folder, (inside.get(folder) ?? 0) + 1);
    return folder === undefined;
  });
  return outermost.map((effect) => {
    const below = inside.get(effect.path) ?? 0;
    return below > 0 ? { effect, note: words.below(below) } : { effect };
  });
}

/** A folder is shown only if nothing in it is. */
function withoutFilledFolders(effects: readonly Effect[]): Effect[] {
  const filled = new Set(effects.map(({ path }) => path.slice(0, Math.max(path.lastIndexOf('/'), 0))));
  return effects.filter(({ path, after }) => after?.type !== 'directory' || !filled.has(path));
}

function section(
  title: string,
  style: NonNullable<Paragraph['style']>,
  entries: readonly Shown[],
  mostLines: number,
  { diffs, words }: Look,
  room: { entries: number; lines: number },
): Paragraph[] {
  if (entries.length === 0) return [];
  const paragraphs: Paragraph[] = [{ text: title, style }];
  let told = 0;
  for (const { effect, note } of entries) {
    if (room.entries === 0) break;
    room.entries -= 1;
    told += 1;
    const { path, before, after } = effect;
    const { type, size } = after ?? before ?? { type: 'file', size: 0 };
    const facts = note ?? (type === 'directory' ? '' : sizeText(size));
    const name = `${visibleName(path)}${type === 'directory' ? '/' : ''}`;
    paragraphs.push({ text: facts === '' ? `  ${name}` : `  ${name}  ${facts}`, style: 'bold' });
    if (type === 'directory' || note !== undefined || room.lines <= 0) continue;
    const diff = diffs.of(effect);
    if (diff === undefined) {
      paragraphs.push({ text: `    ${words.noDiff}`, style: 'dim' });
      continue;
    }
    const lines = parseUnifiedDiff(diff);
    const drawn = lines.slice(0, Math.min(mostLines, room.lines));
    room.lines -= drawn.length;
    paragraphs.push(...drawn.map(diffParagraph));
    const left = lines.length - drawn.length;
    if (left > 0) paragraphs.push({ text: `    ${words.moreLines(left)}`, style: 'dim' });
  }
  const left = entries.length - told;
  if (left > 0) paragraphs.push({ text: `  ${words.moreEntries(left)}`, style: 'dim' });
  return paragraphs;
}

const styles = { added: 'green', removed: 'red', hunk: 'cyan', note: 'dim', same: undefined } as const;
const signs = { added: '+', removed: '-', hunk: '', note: '', same: ' ' } as const;

function diffParagraph({ kind, text }: ReturnType<typeof parseUnifiedDiff>[number]): Paragraph {
  const style = styles[kind];
  return { lead: `    ${signs[kind]}`, text, style, ...(style && { leadStyle: style }) };
}

const MAX_LISTED = 20;

function list(
  title: string,
  entries: readonly { readonly path: string }[],
  words: Words['try'],
): Paragraph[] {
  if (entries.length === 0) return [];
  const left = entries.length - MAX_LISTED;
  return [
    { text: title, style: 'yellow' },
    ...entries.slice(0, MAX_LISTED).map(({ path }) => ({ text: `  ${visibleName(path)}` })),
    ...(left > 0 ? [{ text: `  ${words.moreEntries(left)}`, style: 'dim' as const }] : []),
  ];
}
