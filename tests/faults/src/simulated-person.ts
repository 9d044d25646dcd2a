import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApiError, type ApprovalDecision, type Client, createClient, decide } from '@countersign/client';
import type { CountersignEvent, EventPayload, JsonValue } from '@countersign/protocol';
import { RemotePerson } from '../../lab/src/remote-person.ts';
import { signToken } from '../../lab/src/tokens.ts';
import { clockWithPauses, pause } from '../../lab/src/waiting.ts';
import type { History } from './history.ts';
import {
  changedBase,
  doneLine,
  firstBase,
  markIn,
  markOf,
  rivalAnswered,
  rivalOf,
  shownBase,
  usersIn,
} from './marks.ts';
import type { CallKind } from './plan.ts';
import type { RunnerHost } from './runner-host.ts';

const tokenHours = 24;
const firstPauseMs = 200;
const longestPauseMs = 2_000;
const agentTries = 6;
const agents = 4;
/** With this many unanswered requests, a person starts nothing new. */
const maxUnsettled = 30;
/** Every third end reported by a stream is also looked up over REST. */
const lookUpEvery = 3;
const approvedKinds: readonly string[] = [
  'append',
  'shell',
  'race',
  'tamper',
  'long',
  'slow',
  'rival',
  'run',
];

export interface PersonSettings {
  readonly userId: string;
  readonly baseUrl: string;
  readonly history: History;
  readonly runner: RunnerHost;
}

/** A token for a person, or for a program that acts for them, that is valid longer than the run. */
export const tokenOf = (userId: string, scope: 'person' | 'agent'): string =>
  signToken(userId, scope, { hours: tokenHours });

/**
 * One person with two devices, an agent that calls tools for them, and sometimes a second program that pretends to be
 * their runner. A call's mark decides what they do about it. Everything they learn goes into the history.
 */
export class SimulatedPerson {
  readonly userId: string;
  readonly phone: RemotePerson;
  readonly laptop: RemotePerson;
  /** Requests without a response so far. */
  readonly unsettled = new Set<Promise<unknown>>();
  /** Several programs, so that one whose requests wait does not block all others (AG-3). */
  readonly #agents: readonly Client[];
  /** Makes the calls that nobody answers, because only some calls of one program may wait (AG-3). */
  readonly #ignoredAgent: Client;
  readonly #history: History;
  readonly #runner: RunnerHost;
  readonly #rivalInstance = randomUUID();
  readonly #approved = new Set<string>();
  readonly #markOfTool = new Map<string, string>();
  readonly #digestOfTool = new Map<string, string>();
  #lastApproval: { readonly approval_id: string; readonly project_id: string } | undefined;
  #lastTool: string | undefined;
  #projectId = '';
  #calls = 0;
  #ends = 0;
  #isOver = false;
  #isResting = false;

  constructor({ userId, baseUrl, history, runner }: PersonSettings) {
    const clock = clockWithPauses(longestPauseMs);
    this.userId = userId;
    this.#history = history;
    this.#runner = runner;
    const token = tokenOf(userId, 'person');
    this.phone = new RemotePerson(baseUrl, token, 'phone', clock);
    this.laptop = new RemotePerson(baseUrl, token, 'laptop', clock);
    const agent = (token: string) => createClient({ baseUrl, token: () => token, clock });
    this.#agents = Array.from({ length: agents }, () => agent(tokenOf(userId, 'agent')));
    this.#ignoredAgent = agent(tokenOf(userId, 'agent'));
    this.phone.onEvent = (event) => this.#onEvent('phone', event);
    this.laptop.onEvent = (event) => this.#onEvent('laptop', event);
  }

  /** Creates the project before any fault; the runner that starts later finds it. */
  async signIn(): Promise<void> {
    const body = { name: this.userId, workspace: this.#runner.root };
    const { project } = await this.phone.client.createProject({ body });
    this.#projectId = project.project_id;
    this.#runner.start();
    // In a project that never had a runner, a front end would be told to execute (EV-3).
    await this.#untilAnswered(() => this.#connectedRunner());
    await Promise.all([this.phone.connect(), this.laptop.connect()]);
  }

  /** An agent calls a tool, and retries until it gets a response. A call that was recorded twice counts as two. */
  call(kind: Exclude<CallKind, 'run'>): void {
    if (this.unsettled.size >= maxUnsettled) return;
    const mark = this.#prepare(kind);
    const [tool_name, tool_params] = paramsFor(kind, mark, this.#runner.shown);
    this.#act(async () => {
      const session_id = await this.#session();
      const body = { tool_name, tool_params, session_id };
      const agent = kind === 'ignore' ? this.#ignoredAgent : this.#agentOf(mark);
      const { tool_id, status } = await this.#untilTaken(() => agent.executeTool({ body }));
      this.#lastTool = tool_id;
      this.#history.add({ what: 'called', user: this.userId, mark, toolId: tool_id });
      this.#history.add({ what: 'seen', user: this.userId, toolId: tool_id, status });
    });
  }

  /** Asks the agent on the server to work; its model calls a tool with this mark. */
  say(): void {
    if (this.unsettled.size >= maxUnsettled) return;
    const text = `work on ${this.#prepare('run')}`;
    this.#act(async () => {
      const params = { project_id: this.#projectId };
      const body = { content: text, session_id: await this.#session() };
      // Send once: a person who gets no response looks before repeating.
      const { run_id } = await this.phone.client.sendMessage({ params, body });
      this.#history.add({ what: 'said', user: this.userId, text, runId: run_id });
    });
  }

  /** Tries to see, decide, report and cancel another person's data, which must look as if it did not exist (RE-3). */
  tryToAccess(other: SimulatedPerson): void {
    this.#act(async () => {
      const { client } = this.phone;
      while (other.#lastTool === undefined && !this.#isResting) await pause(firstPauseMs);
      if (other.#lastTool === undefined) return;
      const tool_id = other.#lastTool;
      await this.#expectNotFound('read', () => client.getExecution({ params: { tool_id } }));
      await this.#expectNotFound('cancel', () => client.cancelExecution({ params: { tool_id }, body: {} }));
      const there = { project_id: other.#projectId };
      const place = { ...there, tool_id };
      const report = { status: 'completed' as const, result: { success: true } };
      await this.#expectNotFound('report', () => client.submitResult({ params: place, body: report }));
      const claim = { digest: null, runner_id: 'a stranger' };
      await this.#expectNotFound('start', () => client.startExecution({ params: place, body: claim }));
      await this.#expectNotFound('read the messages of', () => client.listMessages({ params: there }));
      await this.#lookThroughLists();
      if (other.#lastApproval === undefined) return;
      const { approval_id, project_id } = other.#lastApproval;
      const theirs = { approval_id, project_id };
      await this.#expectNotFound('see the request of', () => client.getApproval({ params: { approval_id } }));
      await this.#expectNotFound('approve', () => client.approve({ params: theirs, body: {} }));
      const ours = { approval_id, project_id: this.#projectId };
      await this.#expectNotFound('reject', () => client.reject({ params: ours, body: { reason: 'no' } }));
    });
  }

  /** Everything listed for this person is theirs. */
  async #lookThroughLists(): Promise<void> {
    const { client } = this.phone;
    const lists = [
      () => client.history(),
      () => client.listApprovals(),
      () => client.listProjects(),
      () => client.listRunners(),
    ];
    for (const list of lists) {
      const text = JSON.stringify(await this.#untilTaken(list as () => Promise<unknown>));
      const strangers = usersIn(text).filter((user) => user !== this.userId);
      const places = [...text.matchAll(/"(?:project_id|workspace)":"([^"]+)"/g)].map(([, place]) => place);
      const isOurs = places.every((place) => [this.#projectId, this.#runner.root].includes(String(place)));
      if (strangers.length > 0 || !isOurs)
        this.#addViolation(`${this.userId} was listed what is another person's: ${text.slice(0, 500)}`);
    }
  }

  /** Starts nothing new from now on. */
  stopStarting(): void {
    this.#isResting = true;
  }

  /** Retries nothing from now on. */
  stopRetrying(): void {
    this.#isOver = true;
  }

  close(): void {
    this.stopRetrying();
    this.phone.close();
    this.laptop.close();
  }

  async #connectedRunner(): Promise<string> {
    const { runners } = await this.phone.client.listRunners();
    const runner = runners.find(({ connected }) => connected);
    if (runner === undefined) throw new ApiError(0, 'UNAVAILABLE', 'No runner is there yet');
    return runner.runner_id;
  }

  #prepare(kind: string): string {
    const mark = markOf(kind, this.userId, ++this.#calls);
    writeFileSync(join(this.#runner.root, mark), `${firstBase}\n`);
    return mark;
  }

  /** One session for each call, because only some calls of a session may wait (AG-3). */
  async #session(): Promise<string> {
    const params = { project_id: this.#projectId };
    const { session } = await this.#untilTaken(() => this.phone.client.createSession({ params, body: {} }));
    return session.session_id;
  }

  #onEvent(device: string, { event, data }: CountersignEvent): void {
    const fields = data as {
      tool_id?: string;
      approval_id?: string;
      status?: string;
      late?: boolean;
      project_id?: string | null;
    };
    this.#reportForeignData(event, fields);
    this.#history.add({
      what: 'event',
      user: this.userId,
      device,
      id: this[device as 'phone' | 'laptop'].received.at(-1)?.id,
      name: event,
      toolId: fields.tool_id,
      approvalId: fields.approval_id,
      status: fields.status,
      late: fields.late === true,
    });
    if (event === 'tool.approval_request') this.#onRequest(device, data);
    if (event === 'approval.updated') this.#onPreview(device, data);
    if (device !== 'phone') return;
    if (event === 'approval.resolved' && data.status === 'approved') this.#onApproved(data.tool_id);
    if (event === 'tool.result' && ++this.#ends % lookUpEvery === 0) this.#lookUp(data.tool_id);
  }

  /** Reports any event of another person on this stream. */
  #reportForeignData(event: string, fields: { readonly project_id?: string | null }): void {
    const text = JSON.stringify(fields);
    const strangers = usersIn(text).filter((user) => user !== this.userId);
    const isOurs = [undefined, null, this.#projectId].includes(fields.project_id);
    if (strangers.length > 0 || !isOurs)
      this.#addViolation(`${this.userId} was told of another person's ${event}: ${text.slice(0, 500)}`);
  }

  #onRequest(
    device: string,
    { tool_id, tool_params, approval_id, project_id }: EventPayload<'tool.approval_request'>,
  ) {
    const { mark, kind } = markIn(tool_params) ?? { mark: '', kind: '' };
    this.#markOfTool.set(tool_id, mark);
    this.#lastApproval = { approval_id, project_id };
    if (device !== 'phone') return;
    const params = { approval_id, project_id };
    if (kind === 'reject') this.#decide('phone', rejected(params));
    if (kind === 'withdraw') this.#cancel(tool_id);
  }

  /** Approves what the card shows, once it has a preview. */
  #onPreview(device: string, data: EventPayload<'approval.updated'>): void {
    const { approval_id, project_id, digest, tool_id, preview, tool_params } = data;
    const { mark, kind } = markIn(tool_params) ?? { mark: this.#markOfTool.get(tool_id) ?? '', kind: '' };
    if (digest === null || !approvedKinds.includes(kind)) return;
    const params = { approval_id, project_id };
    if (device === 'laptop') {
      if (kind === 'race') this.#decide('laptop', rejected(params));
      return;
    }
    if (kind === 'tamper' && !this.#approved.has(mark)) this.#tamper(mark);
    this.#approved.add(mark);
    this.#digestOfTool.set(tool_id, digest);
    this.#history.add({
      what: 'approving',
      user: this.userId,
      mark,
      approvalId: approval_id,
      digest,
      base: shownBase(preview),
    });
    this.#decide('phone', { decision: 'approved', params, body: { digest } });
  }

  #onApproved(toolId: string): void {
    const mark = this.#markOfTool.get(toolId) ?? '';
    if (mark.startsWith('slow-')) this.#cancel(toolId);
    if (mark.startsWith('rival-')) this.#rival(toolId, mark);
  }

  /** The person's editor changes the file after the card was drawn, before anyone approves. */
  #tamper(mark: string): void {
    const path = join(this.#runner.root, mark);
    if (!existsSync(path) || readFileSync(path, 'utf8') !== `${firstBase}\n`) return;
    writeFileSync(path, `${changedBase}\n`);
  }

  #decide(device: 'phone' | 'laptop', decision: ApprovalDecision): void {
    const { client } = this[device];
    this.#act(async () => {
      const decided = await this.#untilAnswered(() => decide(client, decision));
      this.#history.add({
        what: 'decided',
        user: this.userId,
        approvalId: decision.params.approval_id,
        device,
        decision: decision.decision,
        outcome: decided.outcome,
        standing: decided.outcome === 'recorded' ? decision.decision : decided.standing.status,
      });
    });
  }

  /** An agent sees only its own calls (AP-9), so the agent that made a call cancels it. */
  #cancel(tool_id: string): void {
    const agent = this.#agentOf(this.#markOfTool.get(tool_id) ?? '');
    this.#act(() => this.#untilAnswered(() => agent.cancelExecution({ params: { tool_id }, body: {} })));
  }

  #agentOf(mark: string): Client {
    const [n = 0] = /\d+/.exec(mark)?.map(Number) ?? [];
    return this.#agents[n % agents] as Client;
  }

  #lookUp(tool_id: string): void {
    this.#act(async () => {
      const { execution } = await this.phone.client.getExecution({ params: { tool_id } });
      this.#history.add({ what: 'seen', user: this.userId, toolId: tool_id, status: execution.status });
    });
  }

  /** A copy of the runner with the same id: if it gets the claim, it executes the call and reports it. */
  #rival(tool_id: string, mark: string): void {
    const params = { tool_id, project_id: this.#projectId };
    const claim = { digest: this.#digestOfTool.get(tool_id) ?? null, instance: this.#rivalInstance };
    this.#act(async () => {
      const { client } = this.phone;
      const named = { runner_id: await this.#untilAnswered(() => this.#connectedRunner()) };
      await this.#untilAnswered(() =>
        client.startExecution({ params, body: { ...named, ...claim } }),
      ).finally(() => writeFileSync(join(this.#runner.shown, rivalAnswered(mark)), ''));
      this.#history.add({ what: 'rival', user: this.userId, toolId: tool_id });
      appendFileSync(join(this.#runner.root, rivalOf(mark)), `${doneLine}\n`);
      const result = { success: true, path: mark, size: 5 };
      const body = { ...named, status: 'completed' as const, result, execution_time_ms: 1 };
      await this.#untilAnswered(() => client.submitResult({ params, body }));
    });
  }

  /** Retries until there is a response. */
  #untilAnswered<T>(send: () => Promise<T>): Promise<T> {
    return this.#send(send, () => this.#isOver);
  }

  /** An agent gives up after some tries, when the run ends, or when it is told to wait (AG-3). */
  #untilTaken<T>(send: () => Promise<T>): Promise<T> {
    let tries = 0;
    return this.#send(send, ({ status }) => ++tries >= agentTries || this.#isResting || status === 429);
  }

  async #send<T>(send: () => Promise<T>, isOver: (error: ApiError) => boolean): Promise<T> {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      try {
        return await send();
      } catch (error) {
        if (!(error instanceof ApiError) || !error.isRetryable || isOver(error)) throw error;
        await pause(pauseMs);
      }
    }
  }

  /** A refusal is a valid response; the checker judges it later. */
  #act(work: () => Promise<unknown>): void {
    const working = work()
      .catch((error: unknown) => {
        if (!(error instanceof ApiError)) this.#addViolation(`${this.userId} met ${String(error)}`);
        else if (!isExpected(error))
          this.#addViolation(
            `${this.userId} was refused with ${error.status} ${error.code}: ${error.message}`,
          );
      })
      .finally(() => this.unsettled.delete(working));
    this.unsettled.add(working);
  }

  async #expectNotFound(what: string, send: () => Promise<unknown>): Promise<void> {
    const status = await this.#untilAnswered(send).then(
      () => 200,
      (error: unknown) => (error instanceof ApiError ? error.status : Number.NaN),
    );
    if (status !== 404 && status !== 0 && !(status >= 500))
      this.#addViolation(`${this.userId} got ${status} when they tried to ${what} what is another person's`);
  }

  #addViolation(problem: string): void {
    this.#history.add({ what: 'wrong', problem });
  }
}

/** Responses that anybody may get: none, not ours any more, decided already, too many, rejected twice. */
const isExpected = ({ status, code }: ApiError): boolean =>
  [0, 404, 408, 409, 429].includes(status) || status >= 500 || code === 'REJECTED_BEFORE';

const rejected = (params: {
  readonly approval_id: string;
  readonly project_id: string;
}): ApprovalDecision => ({
  decision: 'rejected',
  params,
  body: { reason: 'no', message: 'Leave that file alone.' },
});

function paramsFor(kind: CallKind, mark: string, shown: string): [string, Record<string, JsonValue>] {
  if (kind === 'read') return ['read_file', { path: mark }];
  if (kind === 'shell') return ['shell_exec', { command: `echo ${doneLine} >> ${mark}` }];
  const sleeps = { long: 2, slow: 20 }[kind as string];
  if (sleeps !== undefined)
    return ['shell_exec', { command: `echo ${doneLine} >> ${mark}; sleep ${sleeps}` }];
  // It executes until the second program has tried to claim it.
  if (kind === 'rival')
    return [
      'shell_exec',
      {
        command: `echo ${doneLine} >> ${mark}; until [ -e ${shown}/${rivalAnswered(mark)} ]; do sleep 0.1; done`,
      },
    ];
  return ['write_file', { path: mark, content: `${doneLine}\n`, mode: 'append' }];
}
