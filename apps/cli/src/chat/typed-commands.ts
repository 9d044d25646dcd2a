import { isSeenLongEnough } from '@countersign/approvals';
import { type Client, systemClock } from '@countersign/client';
import { type Message, visibleLine } from '@countersign/protocol';
import type { Key } from '../screen/keys.ts';
import { layOut } from '../screen/paragraph.ts';
import type { Words } from '../words.ts';
import {
  type ConversationPlace,
  commandNames,
  exportConversation,
  inputOf,
  rename,
  switchMode,
  type TypedCommand,
  titleOfCall,
  undoableCalls,
  undoCalls,
} from './conversation-commands.ts';
import { storedMessages } from './run-follower.ts';

export interface TypedCommandsDeps {
  readonly client: Client;
  readonly projectId: string;
  readonly words: Words;
  /** The conversation that the commands are about. */
  sessionId(): Promise<string>;
  /** Runs work in the background, and prints what it tells or why it failed. */
  begin(work: () => Promise<string | undefined>): void;
  say(text: string): void;
  /** Sends a message to the agent. */
  send(content: string): void;
  /** Leaves the chat. */
  leave(): void;
}

interface Question {
  readonly text: string;
  readonly yes: () => Promise<string | undefined>;
  /** What is said if the answer is no. */
  readonly kept: string;
  /** When the question came onto the screen, on the monotonic clock. */
  readonly since: number;
}

/** The commands that a person types in a chat. Asks before it does something irreversible. */
export class TypedCommands {
  readonly #deps: TypedCommandsDeps;
  #question: Question | undefined;

  constructor(deps: TypedCommandsDeps) {
    this.#deps = deps;
  }

  /** The question that waits for a key; undefined if there is none. */
  get question(): string | undefined {
    return this.#question?.text;
  }

  /** Only y says yes; any other key says no. Keys that came too soon to be an answer are discarded (UI-6). */
  answer(key: Key): void {
    const question = this.#question;
    if (!question || !isSeenLongEnough(question.since, systemClock)) return;
    this.#question = undefined;
    if (key.name === 'y' && !key.together) this.#deps.begin(question.yes);
    else this.#deps.say(question.kept);
  }

  async run({ name, rest }: TypedCommand): Promise<string | undefined> {
    const place = await this.#place();
    const run = {
      mode: () => switchMode(place, rest),
      rename: () => rename(place, rest),
      export: () => exportConversation(place, rest),
      undo: () => this.#undo(place),
      rewind: () => this.#rewind(place, rest),
      retry: () => this.#retry(place),
      search: () => search(place, rest),
      delete: () => this.#delete(place),
    };
    return run[name]();
  }

  async #place(): Promise<ConversationPlace> {
    const { client, projectId, words, sessionId } = this.#deps;
    return { client, projectId, sessionId: await sessionId(), words, folder: process.cwd() };
  }

  #ask(text: string, kept: string, yes: Question['yes']): void {
    this.#question = { text, kept, yes, since: systemClock.monotonic() };
  }

  async #undo(place: ConversationPlace): Promise<string> {
    const { commands } = place.words;
    const calls = await undoableCalls(place);
    if (calls.length === 0) return commands.nothingToUndo;
    this.#ask(commands.askUndo(calls.length), commands.kept, () => undoCalls(place, calls));
    return calls.map((call) => `  ${titleOfCall(call, place.words)}`).join('\n');
  }

  /** Without a number it lists the messages, the latest as 1. */
  async #rewind(place: ConversationPlace, rest: string): Promise<string> {
    const { client, sessionId, words } = place;
    const { commands } = words;
    const own = await ownMessages(place);
    const message = /^\d+$/.test(rest) ? own[Number(rest) - 1] : undefined;
    if (!message) return [...own.slice(0, 20).map(numbered), commands.rewindHow].join('\n');
    const { message_id } = message;
    const params = { session_id: sessionId };
    const { files, kept, runner_connected } = await client.previewRewind({ params, query: { message_id } });
    const putsBack = files.length > 0 && runner_connected;
    this.#ask(commands.askRewind(putsBack ? files.length : 0), commands.kept, async () => {
      const body = { message_id, files: putsBack };
      await client.rewindSession({ params, body }, { timeoutMs: rewindMs });
      return commands.rewound(visibleLine(message.content).slice(0, 60));
    });
    return [
      ...(putsBack ? files.map(({ path }) => `  ${visibleLine(path)}`) : []),
      ...(files.length > 0 && !runner_connected ? [commands.filesStay] : []),
      ...(kept.length > 0 ? [commands.notPutBack(kept.map(({ tool_name }) => tool_name).join(', '))] : []),
    ].join('\n');
  }

  /** Rewinds the conversation to before the last message, but not the files; then sends the message again. */
  async #retry(place: ConversationPlace): Promise<string | undefined> {
    const [last] = await ownMessages(place);
    if (!last) return place.words.commands.noConversation;
    const body = { message_id: last.message_id, files: false };
    await place.client.rewindSession({ params: { session_id: place.sessionId }, body });
    this.#deps.send(last.content);
    return undefined;
  }

  async #delete({ client, sessionId, words }: ConversationPlace): Promise<undefined> {
    this.#ask(words.commands.askDelete, words.commands.notDeleted, async () => {
      await client.deleteSession({ params: { session_id: sessionId } });
      this.#deps.leave();
      return words.commands.deleted;
    });
  }
}

/** A rewind restores files in several steps, and the server waits for the runner at each. */
const rewindMs = 120_000;

/** The person's messages that the agent still reads, the latest first. */
async function ownMessages({ client, projectId, sessionId }: ConversationPlace): Promise<Message[]> {
  const own: Message[] = [];
  for await (const message of storedMessages(client, projectId, sessionId))
    if (message.role === 'user' && !message.rewound) own.unshift(message);
  return own;
}

const numbered = ({ content }: Message, index: number): string =>
  `  ${index + 1}  ${visibleLine(content).slice(0, 80)}`;

async function search({ client, projectId, words }: ConversationPlace, rest: string): Promise<string> {
  if (rest === '') return words.commands.searchHow;
  const { sessions } = await client.listSessions({ params: { project_id: projectId }, query: { q: rest } });
  if (sessions.length === 0) return words.commands.notFound;
  const found = sessions
    .slice(0, 20)
    .map(({ session_id, title }) => `  ${session_id}  ${visibleLine(title)}`);
  return [...found, words.commands.openHow].join('\n');
}

/** All commands, with what is typed after each. */
export function commandList(words: Words, width: number, color: boolean): string[] {
  const list = commandNames.map((name) => ({
    lead: `/${name} ${inputOf(name, words) ?? ''}`.padEnd(20),
    leadStyle: 'cyan' as const,
    text: words.commands.about[name],
  }));
  return layOut(list, width, color);
}
