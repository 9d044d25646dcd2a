import type { CountersignEvent } from '@countersign/protocol';
import { ActivityLines } from '../activity-line.ts';
import type { Environment } from '../command-context.ts';
import { visible } from '../screen/paragraph.ts';
import type { ServerAccess } from '../sign-in/server-access.ts';
import { streamWords } from '../sign-in/stream-words.ts';
import type { Project } from '../sign-in/workspace-project.ts';
import { paints, type Terminal } from '../terminal.ts';
import type { Words } from '../words.ts';
import { Conversation } from './conversation.ts';
import type { Run } from './run-follower.ts';

export interface ChatPlace {
  readonly access: ServerAccess;
  readonly project: Project;
  readonly sessionId: string | undefined;
  readonly model: string | undefined;
  readonly words: Words;
  readonly terminal: Terminal;
  readonly env: Environment;
}

/**
 * Sends one message without a screen. The reply goes to standard output, notices and calls to standard error; with
 * `json`, all events go to standard output. Shows no approval cards, but says where to decide. SIGINT stops the run; a
 * second SIGINT exits.
 */
export async function chatOnce(
  place: ChatPlace,
  message: string,
  { json }: { json: boolean },
): Promise<number> {
  const { access, words, terminal } = place;
  const activity = new ActivityLines(words, terminal.color);
  const paint = paints(terminal.color);
  const note = (text: string) => terminal.writeError(`${paint.dim(text)}\n`);
  let writing = Promise.resolve();
  const write = (text: string) => {
    writing = writing.then(() => terminal.write(text));
    writing.catch(() => {}); // reported at the end
  };

  const tell = (event: CountersignEvent) => {
    if (json) return write(`${JSON.stringify(event)}\n`);
    if (event.event === 'tool.approval_request') {
      note(words.chat.decideElsewhere(visible(words.title(event.data)), event.data.approval_id));
    }
    for (const line of activity.receive(event, 100)) terminal.writeError(`${line}\n`);
  };
  const conversation = new Conversation({
    ...place,
    onEvent: (event) => {
      if ('session_id' in event.data && event.data.session_id === conversation.sessionId) tell(event);
    },
    onState: (state) => {
      const trouble = streamWords(state, access.address, words);
      if (trouble !== undefined) note(trouble);
    },
  });
  const listener = {
    onLines: (lines: readonly string[]) => {
      if (!json) for (const line of lines) write(`${visible(line)}\n`);
    },
    onNotice: (text: string) => note(visible(words.said(text))),
    onState: () => {},
  };
  const sent = conversation.send(message, listener, 'refuse');
  // If the server refuses the message, close the stream, or the process would never end.
  sent.catch(() => conversation.close());
  const { runId, follower } = await sent;
  const onSignal = () => {
    process.once('SIGINT', () => process.exit(130));
    note(words.chat.stopping);
    conversation.stop(runId).catch((error: Error) => note(visible(words.said(error))));
  };
  process.once('SIGINT', onSignal);
  try {
    const closed = conversation.closed.then((state) => {
      throw state.why === 'stopped' ? new Error('closed') : state.error;
    });
    const run = await Promise.race([follower.ended, closed]);
    await writing;
    return exitCodeOf(run);
  } finally {
    process.off('SIGINT', onSignal);
    conversation.close();
  }
}

export const exitCodeOf = ({ status }: Run): number =>
  status === 'completed' ? 0 : status === 'stopped' ? 130 : 1;
