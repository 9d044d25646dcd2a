import type { PermissionOption, ToolCallUpdate } from '@agentclientprotocol/sdk';
import { ApiError, type Client, decide } from '@countersign/client';
import {
  type Approval,
  type CheckedCard,
  type CountersignEvent,
  checkedCard,
  visibleLine,
} from '@countersign/protocol';
import { callWords } from '../call-line.ts';
import { visible } from '../screen/paragraph.ts';
import type { Words } from '../words.ts';
import type { AcpWords } from './acp-words.ts';
import { kindOf, locationsOf, previewContent, textContent, wholeText } from './tool-call-view.ts';

/** What a card needs, of the request and of each update. */
type Card = CheckedCard<
  Pick<
    Approval,
    | 'approval_id'
    | 'tool_id'
    | 'project_id'
    | 'session_id'
    | 'agent'
    | 'tool_name'
    | 'tool_params'
    | 'description'
    | 'risk_level'
    | 'reasons'
    | 'network'
    | 'preview'
    | 'digest'
    | 'digest_base'
    | 'offered_scopes'
    | 'omitted'
    | 'context'
  >
>;

export interface EditorApprovalsDeps {
  readonly client: Pick<Client, 'getApproval' | 'approve' | 'reject' | 'stopRun' | 'connection'>;
  readonly root: string;
  readonly words: Words;
  readonly acpWords: AcpWords;
  /** Shows the request in the editor; the answer is the option that was chosen, undefined when none was. */
  readonly ask: (
    toolCall: ToolCallUpdate,
    options: PermissionOption[],
    signal: AbortSignal,
  ) => Promise<string | undefined>;
  readonly show: (update: ToolCallUpdate) => void;
  readonly say: (text: string) => void;
  /** The person has chosen that nothing may be changed. */
  readonly isReadOnly: () => boolean;
  /** Ends the run that a call belongs to; null: none. */
  readonly stopRun: (runId: string | null) => Promise<void>;
  /** A request must have been there this long before an approval counts (UI-6). */
  readonly minimumMs?: number;
}

interface Open {
  card: Card;
  /** Ends the question that is being shown. */
  asking: AbortController | undefined;
}

const HALF_A_SECOND = 500;

/**
 * The approvals of one conversation, asked in the editor. The editor is one front end of several: the first decision
 * wins, and a question that was decided elsewhere, or changed, is withdrawn (AP-2). What the editor does not answer
 * decides nothing (AP-3).
 */
export class EditorApprovals {
  readonly #deps: EditorApprovalsDeps;
  readonly #open = new Map<string, Open>();

  constructor(deps: EditorApprovalsDeps) {
    this.#deps = deps;
  }

  receive({ event, data }: CountersignEvent): void {
    switch (event) {
      case 'tool.approval_request':
        this.#open.get(data.approval_id)?.asking?.abort();
        this.#take({ card: data, asking: undefined });
        return;
      case 'approval.updated': {
        const known = this.#open.get(data.approval_id);
        if (!known) return;
        known.asking?.abort();
        const { unfit: _, ...before } = known.card;
        this.#take({ card: { ...before, ...data, omitted: data.omitted }, asking: undefined });
        return;
      }
      case 'approval.resolved':
        this.#withdraw(data.approval_id);
        return;
      case 'tool.result':
        for (const { card } of this.#open.values())
          if (card.tool_id === data.tool_id) this.#withdraw(card.approval_id);
        return;
      case 'stream.reset':
        this.dispose(); // what is still pending is told anew
    }
  }

  /** Takes up a request that was there before we listened. */
  resume(card: Card): void {
    if (!this.#open.has(card.approval_id)) this.#take({ card, asking: undefined });
  }

  /** Another mode holds now, also for what is being asked. */
  reconsider(): void {
    for (const { card, asking } of [...this.#open.values()]) {
      asking?.abort();
      this.#take({ card, asking: undefined });
    }
  }

  /** Every question goes away, and nothing is sent (AP-3). */
  dispose(): void {
    for (const id of [...this.#open.keys()]) this.#withdraw(id);
  }

  #withdraw(approvalId: string): void {
    this.#open.get(approvalId)?.asking?.abort();
    this.#open.delete(approvalId);
  }

  #take(open: Open): void {
    this.#open.set(open.card.approval_id, open);
    this.#settle(open).catch((error: Error) =>
      this.#deps.say(this.#deps.acpWords.notSent(visible(this.#deps.words.said(error.message)))),
    );
  }

  async #settle(open: Open): Promise<void> {
    const { client, acpWords } = this.#deps;
    const { approval_id } = open.card;
    if (open.card.omitted?.length) {
      const { approval } = await client.getApproval({ params: { approval_id } });
      open.card = { ...open.card, ...approval, omitted: undefined };
    }
    open.card = checkedCard(open.card);
    if (open.card.preview === null || !this.#isCurrent(open)) return; // an update follows
    this.#deps.show(this.#view(open.card));
    if (this.#deps.isReadOnly()) {
      const { readOnlyReason: reason, readOnlyMessage: message } = acpWords;
      return this.#reject(open.card, { reason, message });
    }
    await this.#ask(open);
  }

  async #ask(open: Open): Promise<void> {
    const { acpWords, stopRun } = this.#deps;
    const { card } = open;
    const options = optionsFor(card, acpWords);
    const chosen = await this.#answerOf(open, this.#view(card), options);
    if (chosen === undefined) return;
    if (chosen === 'reject') return this.#reject(card, {});
    if (chosen === 'stop') {
      await this.#reject(card, {});
      return stopRun(card.context.run_id);
    }
    if (card.risk_level === 'HIGH' && !(await this.#isMeant(open))) return;
    await this.#approve(card, chosen);
  }

  /** The deliberate second step (RK-1): another question, which says so. */
  async #isMeant(open: Open): Promise<boolean> {
    const { acpWords, words } = this.#deps;
    const { card } = open;
    const view = { ...this.#view(card), title: acpWords.highTitle(visible(words.title(card))) };
    const chosen = await this.#answerOf(open, view, [
      { optionId: 'reject', name: acpWords.reject, kind: 'reject_once' },
      { optionId: 'once', name: acpWords.confirm, kind: 'allow_once' },
    ]);
    if (chosen === 'reject') await this.#reject(card, {});
    return chosen === 'once';
  }

  /** An approval that came sooner than anybody can read is type-ahead: it is asked again (UI-6). */
  async #answerOf(
    open: Open,
    view: ToolCallUpdate,
    options: PermissionOption[],
  ): Promise<string | undefined> {
    const { ask, say, acpWords, minimumMs = HALF_A_SECOND } = this.#deps;
    for (;;) {
      const asking = new AbortController();
      open.asking = asking;
      const shownAt = performance.now();
      const chosen = await ask(view, options, asking.signal);
      if (!this.#isCurrent(open) || asking.signal.aborted) return undefined;
      const option = options.find(({ optionId }) => optionId === chosen);
      const isTooQuick = performance.now() - shownAt < minimumMs && option?.kind.startsWith('allow');
      if (!isTooQuick) return option?.optionId;
      say(acpWords.tooQuick);
    }
  }

  #isCurrent(open: Open): boolean {
    return this.#open.get(open.card.approval_id) === open;
  }

  async #approve(card: Card, chosen: string): Promise<void> {
    const { approval_id, project_id, digest } = card;
    const wider = chosen === 'once' ? undefined : narrowest(card, chosen);
    await this.#send(() =>
      decide(this.#deps.client as Client, {
        decision: 'approved',
        params: { approval_id, project_id },
        body: {
          ...(digest !== null && { digest }),
          ...(wider && { scope: wider.scope, ...(wider.pattern !== null && { pattern: wider.pattern }) }),
        },
      }),
    );
  }

  async #reject(
    { approval_id, project_id }: Card,
    body: { reason?: string; message?: string },
  ): Promise<void> {
    const params = { approval_id, project_id };
    await this.#send(() => decide(this.#deps.client as Client, { decision: 'rejected', params, body }));
  }

  /** What was displayed may have changed meanwhile: the update that follows is asked about. */
  async #send(send: () => Promise<unknown>): Promise<void> {
    try {
      await send();
    } catch (error) {
      if (error instanceof ApiError && (error.code === 'PREVIEW_CHANGED' || error.code === 'PREVIEW_PENDING'))
        return;
      throw error;
    }
  }

  #view(card: Card): ToolCallUpdate {
    const { root, words } = this.#deps;
    const reasons = card.reasons.map((reason) => reasonLine(reason, words)).join('\n');
    return {
      toolCallId: card.tool_id,
      title: `${words.risk[card.risk_level]}: ${visible(words.title(card))}`,
      name: card.tool_name,
      kind: kindOf(card.tool_name),
      status: 'pending',
      content: [
        ...(card.preview === null ? [] : previewContent(card.preview, card, root, words)),
        ...(reasons === '' ? [] : [wholeText(reasons)]),
        ...(card.network ? [textContent(words.card.network)] : []),
      ],
      locations: locationsOf(root, card.tool_params),
      rawInput: { tool: card.tool_name, call: callWords(card.tool_name, card.tool_params) },
    };
  }
}

/**
 * Our scopes as the four kinds of the protocol (docs/decisions/0010): each option says what it grants, the narrowest of
 * its scope is offered, and a HIGH call is only ever approved by itself.
 */
function optionsFor(card: Card, words: AcpWords): PermissionOption[] {
  const wider = (['class', 'session', 'always'] as const).flatMap((scope): PermissionOption[] => {
    const offered = narrowest(card, scope);
    if (!offered) return [];
    const name = offered.warning === null ? offered.label : `${offered.label}. ${offered.warning}`;
    return [{ optionId: scope, name: visible(name), kind: 'allow_always' }];
  });
  const once: PermissionOption = { optionId: 'once', name: words.once, kind: 'allow_once' };
  const no: PermissionOption[] = [
    { optionId: 'reject', name: words.reject, kind: 'reject_once' },
    { optionId: 'stop', name: words.stop, kind: 'reject_always' },
  ];
  if (card.unfit) return no; // what is not shown cannot be approved (AP-8)
  // Editors select the first option: of a HIGH call that is the safe one (UI-6).
  return card.risk_level === 'HIGH' ? [...no, once] : [once, ...wider, ...no];
}

/** With what triggered it, on one line (RK-3). */
function reasonLine({ why, operand }: Card['reasons'][number], { said }: Words): string {
  const isNamed = operand === undefined || why.includes(operand);
  return isNamed ? said(why) : `${said(why)}: ${visibleLine(operand)}`;
}

/** The server offers them narrow before wide. */
const narrowest = ({ offered_scopes }: Card, scope: string) =>
  offered_scopes.find((offered) => offered.scope === scope);
