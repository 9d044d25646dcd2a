import { type EventStream, openStream } from '@countersign/client';
import type { Approval } from '@countersign/protocol';
import type { Environment } from '../command-context.ts';
import type { Key } from '../screen/keys.ts';
import { Stage } from '../screen/stage.ts';
import type { ServerAccess } from '../sign-in/server-access.ts';
import { streamWords } from '../sign-in/stream-words.ts';
import { paints, type Screen } from '../terminal.ts';
import type { Words } from '../words.ts';
import { cardDeps, TerminalApprovals } from './terminal-approvals.ts';

export interface ApprovalsSessionOptions {
  readonly access: ServerAccess;
  readonly screen: Screen;
  readonly color: boolean;
  readonly words: Words;
  readonly env: Environment;
  /** If set, only this approval is shown, and the session ends when it is settled. */
  readonly only?: Approval;
}

/** Shows cards until the person leaves or `only` is settled. Returns the last status, if one was settled. */
export async function runApprovalsSession(options: ApprovalsSessionOptions): Promise<string | undefined> {
  const { access, screen, color, words, env, only } = options;
  const { client, address } = access;
  const paint = paints(color);
  let trouble: string | undefined = words.stream.connecting(address);
  let settled: string | undefined;
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();

  const isRelevant = (approvalId: string) => only === undefined || only.approval_id === approvalId;
  const settle = (status: string) => {
    settled = status;
    if (only) leave();
  };
  const stage = new Stage({
    screen,
    env,
    lines: (columns, rows) => {
      const card = cards.lines(columns, rows - 2);
      const status = trouble === undefined ? paint.dim(words.approvals.watching) : paint.yellow(trouble);
      return card.length > 0 && trouble === undefined ? card : [...card, status];
    },
    onKey: (key: Key) => {
      if (!cards.press(key) && ['ctrl-c', 'ctrl-d', 'q'].includes(key.name)) leave();
    },
  });
  const deps = cardDeps(access, stage);
  const cards: TerminalApprovals = new TerminalApprovals({
    ...deps,
    words,
    color,
    server: {
      ...deps.server,
      decide: async (decision) => {
        const sent = await deps.server.decide(decision);
        // Leave later, so that the line about the decision is printed first.
        setImmediate(() => settle(sent.outcome === 'recorded' ? decision.decision : sent.standing.status));
        return sent;
      },
    },
    isShown: ({ approval_id }) => isRelevant(approval_id),
  });
  const stream: EventStream = openStream({
    client,
    projectId: only?.project_id,
    onEvent: (event) => {
      if ('approval_id' in event.data && !isRelevant(String(event.data.approval_id))) return;
      cards.receive(event);
      if (event.event === 'approval.resolved') settle(event.data.status);
    },
    onState: (state) => {
      trouble = state.status === 'connecting' ? trouble : streamWords(state, address, words);
      stage.draw();
      if (state.status === 'closed') leave();
    },
  });
  if (only) cards.replace([only]);
  stage.draw();
  await left;
  cards.dispose();
  stage.close();
  stream.close();
  const closed = await stream.closed;
  if (closed.why !== 'stopped') throw closed.error;
  return settled;
}
