import { approvalsServer } from '@countersign/approvals';
import { type EventStream, openStream, systemClock } from '@countersign/client';
import type { Approval } from '@countersign/protocol';
import type { Key } from '../screen/keys.ts';
import { Stage } from '../screen/stage.ts';
import type { ServerAccess } from '../sign-in/server-access.ts';
import { streamWords } from '../sign-in/stream-words.ts';
import { paints, type Screen } from '../terminal.ts';
import type { Words } from '../words.ts';
import { TerminalApprovals } from './terminal-approvals.ts';

export interface ApprovalsSessionOptions {
  readonly access: ServerAccess;
  readonly screen: Screen;
  readonly color: boolean;
  readonly words: Words;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Ends when this one is settled; without it, when the person leaves. */
  readonly only?: Approval;
}

/** Shows cards until the person leaves, or until `only` is settled. Returns how that one ended. */
export async function runApprovalsSession(options: ApprovalsSessionOptions): Promise<string | undefined> {
  const { access, screen, color, words, env, only } = options;
  const { client, address, device } = access;
  const server = approvalsServer(client);
  const paint = paints(color);
  let trouble: string | undefined = words.stream.connecting(address);
  let settled: string | undefined;
  let leave = () => {};
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });

  const isMeant = (approvalId: string) => only === undefined || only.approval_id === approvalId;
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
  const cards = new TerminalApprovals({
    clock: systemClock,
    words,
    color,
    device,
    server: {
      ...server,
      decide: async (decision) => {
        const sent = await server.decide(decision);
        // Print the line about it first.
        setImmediate(() => settle(sent.outcome === 'recorded' ? decision.decision : sent.standing.status));
        return sent;
      },
    },
    isShown: ({ approval_id }) => isMeant(approval_id),
    backtest: (rule) => client.backtestPolicy({ body: { rule } }),
    edit: stage.edit,
    onChange: () => stage.draw(),
    say: (lines) => stage.print(lines),
  });
  const stream: EventStream = openStream({
    client,
    projectId: only?.project_id,
    onEvent: (event) => {
      if ('approval_id' in event.data && !isMeant(String(event.data.approval_id))) return;
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
