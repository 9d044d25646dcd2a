import {
  type CalledTool,
  networkText,
  parameterLines,
  placeText,
  previewLines,
  reasonText,
  shellLineOf,
  type ViewLine,
} from '@countersign/approvals';
import {
  type Approval,
  type CheckedCard,
  type EventPayload,
  mustShowParameters,
  type Preview,
  visibleLine,
} from '@countersign/protocol';
import { layOut, type Paragraph, visible } from '../screen/paragraph.ts';
import { fit, spread, widthOf } from '../screen/text-width.ts';
import { paints, type StyleName } from '../terminal.ts';
import type { Words } from '../words.ts';

/** The fields of an approval that a card needs. */
export type CardApproval = CheckedCard<Omit<Approval, 'status' | 'created_at'>>;

export interface CardFrame {
  readonly columns: number;
  /** How high the whole card may be. */
  readonly rows: number;
  readonly color: boolean;
  readonly words: Words;
}

export interface CardState {
  /** While there is no preview: true if a runner is making one, false if no runner is connected. */
  readonly isPreviewComing: boolean;
  /** Milliseconds until the request expires. */
  readonly remainingMs: number;
  /** How many lines of the preview are scrolled away. */
  readonly scroll: number;
  /** Lines below the preview: keys, a question, a list. */
  readonly below: readonly string[];
  /** Title of the request's conversation, if the person is in another one. */
  readonly elsewhere?: string | undefined;
}

export interface DrawnCard {
  readonly lines: string[];
  /** How far the preview can be scrolled. */
  readonly maxScroll: number;
  /** Number of preview lines that are shown at once. */
  readonly page: number;
}

const margin = '│ ';
/** The least height of a scrolled preview. */
const minPreviewRows = 3;

/** Draws one request: title, risk and reasons, its conversation, the preview and the keys. */
export function drawCard(approval: CardApproval, state: CardState, frame: CardFrame): DrawnCard {
  const { columns, color } = frame;
  const width = Math.max(columns - margin.length - 1, 20);
  const { elsewhere } = state;
  const place: Paragraph[] =
    elsewhere === undefined
      ? []
      : [{ lead: `${frame.words.card.elsewhere} `, text: visibleLine(elsewhere), style: 'yellow' }];
  const title = layOut([...place, { text: frame.words.title(approval), style: 'bold' }], width, color);
  const story = contextLines(approval, width, frame);
  const preview = previewLinesOf(approval, state.isPreviewComing, width, frame);

  const roomBelow = (head: readonly string[]) => frame.rows - head.length - state.below.length - 5;
  // If not everything fits, title and risk stay in sight, and the reasons are scrolled with the preview.
  const whole = [...title, '', ...story];
  const isTight = roomBelow(whole) < minPreviewRows;
  const head = isTight ? title : whole;
  const long = isTight ? [...preview, '', ...story] : preview;
  const room = Math.max(roomBelow(head), minPreviewRows);
  const position = (from: number, to: number) => {
    const text = `${frame.words.card.window(from, to, long.length)} · ${frame.words.card.scrollKeys}`;
    return layOut([{ text, style: 'dim' }], width, color);
  };
  const isLong = long.length > room;
  const page = isLong ? Math.max(room - position(long.length, long.length).length, 1) : long.length;
  const maxScroll = Math.max(long.length - page, 0);
  const from = Math.min(state.scroll, maxScroll);
  const shown = long.slice(from, from + page);
  if (isLong) shown.push(...position(from + 1, from + page));

  const bar = paints(color)[riskStyle[approval.risk_level]];
  const body = [...head, '', ...shown, '', ...state.below];
  const lines = [topLine(approval, state.remainingMs, frame), ...body.map((line) => `${bar('│')} ${line}`)];
  return { lines: [...lines, bar(`╰${'─'.repeat(columns - 2)}`)], maxScroll, page };
}

/** The whole card without scrolling, for `approvals show`. */
export function printedCard(approval: CardApproval, isPreviewComing: boolean, frame: CardFrame): string[] {
  const state = { isPreviewComing, remainingMs: approval.remaining_ms, scroll: 0, below: [] };
  return drawCard(approval, state, { ...frame, rows: Number.MAX_SAFE_INTEGER }).lines;
}

/** The preview alone, for printing above the card. */
export const printedPreview = (
  approval: CardApproval,
  isPreviewComing: boolean,
  { columns, color, words }: CardFrame,
): string[] => layOut(previewParagraphsOf(approval, isPreviewComing, words), columns - 1, color);

const riskStyle: Readonly<Record<Approval['risk_level'], StyleName>> = {
  LOW: 'green',
  MEDIUM: 'yellow',
  HIGH: 'red',
};

function topLine(
  { risk_level, revision }: CardApproval,
  remainingMs: number,
  { columns, color, words }: CardFrame,
): string {
  const paint = paints(color);
  const bar = paint[riskStyle[risk_level]];
  const tag = ` ${words.risk[risk_level]}${revision > 1 ? ` · ${words.card.revision(revision)}` : ''} `;
  const time = ` ${timeWords(remainingMs, words)} `;
  const line = '─'.repeat(Math.max(columns - widthOf(tag) - widthOf(time) - 5, 1));
  const timeStyle = remainingMs < 60_000 ? paint.red : paint.dim;
  return `${bar('╭─')}${bar(tag)}${bar(line)}${timeStyle(time)}${bar('─')}`;
}

/** The reasons, network access, and the excerpt of the conversation. */
function contextLines(approval: CardApproval, width: number, { color, words }: CardFrame): string[] {
  const { card } = words;
  const { excerpt, step } = approval.context;
  const place = step === null ? '' : `  (${card.step(step + 1)})`;
  return layOut(
    [
      ...reasonParagraphs(approval, words),
      ...(approval.network
        ? [{ ...labelled('', visibleLine(networkText(approval.preview, card))), style: 'yellow' as const }]
        : []),
      ...(excerpt === '' ? [] : [labelled(card.said, `“${visibleLine(excerpt)}”${place}`)]),
    ],
    width,
    color,
  );
}

function reasonParagraphs({ reasons }: CardApproval, { card, said }: Words): Paragraph[] {
  return reasons.map((reason, i) => {
    const known = said(reason);
    const sentence = `${known.charAt(0).toUpperCase()}${known.slice(1)}`;
    return labelled(i === 0 ? card.why : '', `${reasonText(reason, sentence)}  (${reason.rule})`);
  });
}

interface LaidOut {
  readonly key: string;
  readonly words: Words;
  readonly lines: readonly string[];
}

/** The laid out previews of cards. A card is drawn at least every second, and a trial may have thousands of lines. */
const laidOut = new WeakMap<CardApproval, LaidOut>();

function previewLinesOf(
  approval: CardApproval,
  isPreviewComing: boolean,
  width: number,
  { color, words }: CardFrame,
): readonly string[] {
  const key = `${width} ${color} ${isPreviewComing}`;
  const known = laidOut.get(approval);
  if (known?.key === key && known.words === words) return known.lines;
  const lines = layOut(previewParagraphsOf(approval, isPreviewComing, words), width, color);
  laidOut.set(approval, { key, words, lines });
  return lines;
}

/** The preview; the parameters if there is no preview. */
function previewParagraphsOf(approval: CardApproval, isPreviewComing: boolean, words: Words): Paragraph[] {
  const { preview } = approval;
  const { card } = words;
  if (preview !== null) return callParagraphs(preview, approval, words);
  const why = isPreviewComing ? card.previewComing : card.noPreview;
  return [{ text: why, style: 'yellow' }, ...parameterParagraphs(approval, card)];
}

/**
 * The preview, with the parts of the call that it leaves out: a shell line as it was written, or the parameters if only
 * they say what will happen. `linesOf`: the lines to show, if not all.
 */
export function callParagraphs(
  preview: Preview,
  call: CalledTool,
  words: Words,
  linesOf?: typeof previewLines,
): Paragraph[] {
  const told = previewParagraphs(preview, words, linesOf);
  const line = preview.kind === 'command' ? shellLineOf(call) : undefined;
  if (line !== undefined) return [{ lead: '$ ', leadStyle: 'dim', text: line, style: 'bold' }, ...told];
  return mustShowParameters(preview) ? [...told, ...parameterParagraphs(call, words.card)] : told;
}

function parameterParagraphs(call: CalledTool, card: Words['card']): Paragraph[] {
  return [
    { text: `${card.parameters} · ${call.tool_name}`, style: 'dim' },
    ...parameterLines(call).map(({ isPlain, name, text }) => ({
      // An unusual name could be mistaken for other text, so it is quoted beside its value.
      lead: `${isPlain ? name : '?'} = `,
      leadStyle: 'cyan' as const,
      text: isPlain ? text : `${name}: ${text}`,
    })),
  ];
}

export function timeWords(ms: number, { card }: Words): string {
  if (ms <= 0) return card.timeIsOver;
  const seconds = Math.ceil(ms / 1000);
  return card.left(`${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`);
}

/** The keys, `y approve   n reject …`, and how many others wait, on as many lines as needed. */
export function keyLines(
  keys: readonly (readonly [string, string])[],
  right: string,
  width: number,
  color: boolean,
): string[] {
  const paint = paints(color);
  const full: string[] = [];
  let line = '';
  for (const [key, means] of keys) {
    const word = `${paint.bold(key)} ${paint.dim(means)}`;
    const longer = line === '' ? word : `${line}   ${word}`;
    const isRoom = line === '' || widthOf(longer) <= width;
    if (!isRoom) full.push(line);
    line = isRoom ? longer : word;
  }
  if (right === '') return [...full, line];
  const isRoom = widthOf(line) + 1 + widthOf(right) <= width;
  return isRoom
    ? [...full, spread(line, paint.dim(right), width)]
    : [...full, line, paint.dim(fit(right, width))];
}

/** One line of the list of pending approvals. */
export function listLine(
  approval: CardApproval,
  remainingMs: number,
  isChosen: boolean,
  width: number,
  { color, words }: CardFrame,
  elsewhere?: string,
): string {
  const paint = paints(color);
  const risk = words.risk[approval.risk_level];
  const time = timeWords(remainingMs, words);
  const room = width - widthOf(risk) - widthOf(time) - 6;
  const place = elsewhere === undefined ? '' : `${elsewhere}: `;
  const description = fit(visibleLine(`${place}${words.title(approval)}`), room);
  const text = `${description}${' '.repeat(Math.max(room - widthOf(description), 0))}`;
  const mark = isChosen ? paint.bold('› ') : '  ';
  return `${mark}${paint[riskStyle[approval.risk_level]](risk)}  ${isChosen ? paint.bold(text) : text}  ${paint.dim(time)}`;
}

const styles: Readonly<Record<NonNullable<ViewLine['tone']>, StyleName | undefined>> = {
  strong: 'bold',
  quiet: 'dim',
  caution: 'yellow',
  danger: 'red',
  hunk: 'cyan',
  added: 'green',
  removed: 'red',
  listed: undefined,
};
const leadStyles: { readonly [Tone in NonNullable<ViewLine['tone']>]?: StyleName } = {
  added: 'green',
  removed: 'red',
  listed: 'cyan',
};

/** The coloured lines of a preview, without network access, which the card shows among the reasons. */
export function previewParagraphs(
  preview: Preview,
  { card, said }: Words,
  linesOf = previewLines,
): Paragraph[] {
  const lines = linesOf(preview, { ...card, network: undefined }, said);
  return lines.map(({ label, lead, text, tone }, i) => {
    const style = tone && styles[tone];
    if (label !== undefined) return { ...labelled(label === lines[i - 1]?.label ? '' : label, text), style };
    const leadStyle = tone && leadStyles[tone];
    return { text, style, ...(lead !== undefined && { lead }), ...(leadStyle && { leadStyle }) };
  });
}

const labelColumns = 16;

const labelled = (label: string, text: string): Paragraph => ({
  lead: label.padEnd(labelColumns),
  leadStyle: 'dim',
  text,
});

type Resolution = Pick<EventPayload<'approval.resolved'>, 'device' | 'grant_id' | 'error'> & {
  readonly status: string;
};

/** One printed line about how a request ended: `✓ Agent wants to change config.json · approved on phone`. */
export function resolutionLine(
  description: string,
  { status, device, grant_id, error }: Resolution,
  here: { readonly device: string; readonly words: Words; readonly color: boolean },
  more?: string,
): string {
  const paint = paints(here.color);
  const words = decisionWords({ status, device, grant_id, error }, here);
  const mark =
    status === 'approved' ? paint.green('✓') : status === 'rejected' ? paint.red('✗') : paint.yellow('–');
  const tail = more === undefined ? words : `${words} · ${visible(more)}`;
  return `${mark} ${visible(description)} ${paint.dim(`· ${tail}`)}`;
}

/** How a request ended, in words: `approved here`, `rejected on phone`. */
export function decisionWords(
  { status, device, grant_id, error }: Resolution,
  here: { readonly device: string; readonly words: Words },
): string {
  const { outcome, calls } = here.words;
  const isHere = device === here.device;
  const where = placeText(device, false, calls.decided);
  switch (status) {
    case 'approved':
      if (isHere) return outcome.approvedHere;
      return device === null && grant_id !== null ? outcome.approvedByGrant : outcome.approvedOn(where);
    case 'rejected':
      return isHere ? outcome.rejectedHere : outcome.rejectedOn(where);
    case 'timeout':
      return outcome.timeout;
    default:
      return error ? outcome.failed(`${visible(here.words.said(error))} (${error.code})`) : outcome.cancelled;
  }
}
