import {
  type ApprovalEntry,
  approvalOfTrial,
  type ScopeChoice,
  scopeChoices,
  trialOf,
} from '@countersign/approvals';
import { LineEditor } from '../screen/line-editor.ts';
import { inputLines, layOut } from '../screen/paragraph.ts';
import type { StyleName } from '../terminal.ts';
import type { Words } from '../words.ts';
import { type CardFrame, keyLines, listLine } from './approval-card.ts';
import { changeParagraphs, type Params } from './edited-params.ts';

/** What the person is doing with the card that is shown. */
export type CardMode =
  | { readonly name: 'look' }
  | { readonly name: 'help' }
  | { readonly name: 'confirm'; readonly why: 'high' | 'unseen' }
  | { readonly name: 'reject'; readonly editor: LineEditor }
  | { readonly name: 'scopes' }
  | {
      readonly name: 'scope';
      readonly choice: ScopeChoice;
      /** Whether the scope includes HIGH calls (AP-4). */
      readonly high: boolean;
      /** What the scope would have decided on the recorded history; undefined while the server computes it. */
      readonly tried: string | undefined;
    }
  | { readonly name: 'edit-line'; readonly editor: LineEditor }
  | { readonly name: 'edited'; readonly params: Params; readonly text: string }
  | { readonly name: 'list'; readonly index: number }
  /** A decision is on its way, or an editor has the terminal. */
  | { readonly name: 'busy' };

export const looking: CardMode = { name: 'look' };
export const rejecting = (): CardMode => ({ name: 'reject', editor: new LineEditor() });

export interface CardsView {
  readonly current: ApprovalEntry;
  readonly all: readonly ApprovalEntry[];
  readonly remainingMs: (pending: ApprovalEntry) => number;
  /** The conversation of a request, if it is not the current one. */
  readonly elsewhere?: (pending: ApprovalEntry) => string | undefined;
  readonly note: string | undefined;
  /** This process's monotonic clock. */
  readonly now: number;
}

const secondsSince = (since: number, now: number): string => String(Math.floor((now - since) / 1000));

/** The keys that count now, each with its meaning. A call that is being tried cannot be approved. */
function keysFor(
  { approval, isTryable }: ApprovalEntry,
  { keys }: Words,
): readonly (readonly [string, string])[] {
  const trial = trialOf(approval);
  return keys.look.flatMap(([key, means]): (readonly [string, string])[] => {
    if (key === 't') return isTryable && !approval.trying ? [[key, means]] : [];
    if (approval.trying && (key === 'y' || key === 'a')) return [];
    if (key === 'y' && trial && approvalOfTrial(trial) === 'land') return [[key, keys.approveChanges]];
    return [[key, means]];
  });
}

/** The lines below the preview in each mode. */
export function linesBelow(mode: CardMode, view: CardsView, frame: CardFrame): string[] {
  const { words, color } = frame;
  const { keys, card } = words;
  const width = Math.max(frame.columns - 3, 20);
  const halfScreen = Math.max(Math.floor(frame.rows / 2) - 3, 3);
  const text = (line: string, style?: StyleName) => layOut([{ text: line, style }], width, color);
  switch (mode.name) {
    case 'look':
    case 'help': {
      const others = view.all.length - 1;
      const help = mode.name === 'help' ? [...keys.help.flatMap((line) => text(line, 'dim')), ''] : [];
      const note = view.note === undefined ? [] : text(view.note, 'yellow');
      const { tryingSince } = view.current;
      const progress =
        tryingSince === null
          ? []
          : text(
              `${words.trial.trying} ${card.trial.seconds(secondsSince(tryingSince, view.now))}`,
              'yellow',
            );
      const right = others > 0 ? card.more(others) : '';
      return [...help, ...note, ...progress, ...keyLines(keysFor(view.current, words), right, width, color)];
    }
    case 'confirm':
      return mode.why === 'high' ? text(keys.confirmHigh, 'red') : text(keys.confirmUnseen, 'yellow');
    case 'reject':
      return [...inputLines(keys.rejectPrompt, mode.editor, width, color), ...text(keys.rejectHint, 'dim')];
    case 'scopes': {
      const { offered_scopes } = view.current.approval;
      const offers = scopeChoices(offered_scopes).map((choice, i) => ({
        lead: `${(i + 1) % 10}  `,
        leadStyle: 'bold' as const,
        text: words.scope(choice),
      }));
      return [
        ...text(keys.scopesTitle, 'bold'),
        ...layOut(offers, width, color),
        ...text(keys.scopesHint, 'dim'),
      ];
    }
    case 'scope':
      return [
        ...text(words.scope(mode.choice), 'bold'),
        ...(mode.choice.offer.warning === null || mode.choice.onlyHere
          ? []
          : text(words.said(mode.choice.offer.warning), 'yellow')),
        ...text(mode.tried ?? keys.backtesting),
        ...text(keys.includeHigh(mode.high)),
        ...(mode.high ? text(keys.highWarning, 'red') : []),
        ...text(keys.scopeConfirm, 'dim'),
      ];
    case 'edit-line':
      return [...inputLines(keys.editLine, mode.editor, width, color), ...text(keys.editLineHint, 'dim')];
    case 'edited':
      return [
        ...text(keys.editedTitle, 'bold'),
        ...layOut(changeParagraphs(view.current.approval.tool_params, mode.params), width, color),
        ...text(keys.editedConfirm, 'dim'),
      ];
    case 'list': {
      const first = Math.max(mode.index - halfScreen + 1, 0);
      const shown = view.all.slice(first, first + halfScreen);
      return [
        ...text(keys.listTitle, 'bold'),
        ...shown.map((entry, i) => {
          const isChosen = first + i === mode.index;
          const place = view.elsewhere?.(entry);
          return listLine(entry.approval, view.remainingMs(entry), isChosen, width, frame, place);
        }),
        ...text(keys.listHint, 'dim'),
      ];
    }
    case 'busy':
      return text(keys.sending, 'dim');
  }
}
