import { ApiError, decide } from '@countersign/client';
import type { CountersignEvent, EventPayload } from '@countersign/protocol';
import type { WireRequest, WireTurn } from '@countersign/testing';
import type { RemotePerson } from '../../../lab/src/remote-person.ts';
import { completed, digestOf, type RunnerScript } from '../../../lab/src/remote-runner.ts';
import { untilAnswered } from '../../../lab/src/waiting.ts';

/**
 * A small mixed workload. A call's file name says how it should end, so that the person, the runner and the checks
 * agree without talking to each other: `approve-3.md` is approved and written, `reject-3.md` is rejected, …
 */
export const plannedEnds: Readonly<Record<string, string>> = {
  read: 'completed', // LOW: needs no approval
  flaky: 'completed', // LOW: the first attempt fails, the second succeeds
  approve: 'completed',
  stale: 'completed', // the runner finds the file changed: the person is asked again and approves again
  edit: 'completed', // approved with other content
  reject: 'rejected',
  withdraw: 'cancelled', // cancelled while it waits for approval
  slow: 'cancelled', // approved, and cancelled while it executes
  stop: 'cancelled', // its run is stopped while it waits for approval
  expire: 'timeout', // nobody decides
  lost: 'failed', // the runner starts it and never comes back
  nobody: 'failed', // LOW, and no runner connects
};

/** The plan of a file name: `approve-3.md` → `approve`. */
export const planOf = (path: string): string => path.split('-')[0] ?? '';

/** The agent's model: answers by the message and the state of the conversation. */
export function scriptedModel(onRequest: (key: string) => void): (request: WireRequest) => WireTurn {
  return ({ body }) => {
    const said = body.messages.findLast(({ role }) => role === 'user')?.content;
    const text = typeof said === 'string' ? said : JSON.stringify(said);
    const [, kind, batch] = /(work|stop) (\d+)/.exec(text) ?? [];
    const isAnswered = body.messages.some(({ role }) => role === 'tool');
    onRequest(`${kind} ${batch}#${isAnswered ? 1 : 0}`);
    if (isAnswered) return [{ text: 'It is ' }, { text: 'done.' }];
    const write = (name: string) => ({
      call: { name: 'write_file', args: { path: `${name}-agent${batch}.md`, content: 'x' }, id: `w${batch}` },
    });
    if (kind === 'stop') return [write('stop')];
    const read = { call: { name: 'read_file', args: { path: `read-agent${batch}.md` }, id: `r${batch}` } };
    return [{ text: 'I look.' }, read, write('approve')];
  };
}

/** How the runner handles each call. */
export const runnerScript: Pick<RunnerScript, 'execute' | 'preview' | 'refuse'> = {
  async execute({ tool_params, attempt }, cancelled) {
    const plan = planOf(String(tool_params.path));
    if (plan === 'flaky' && attempt === 1) {
      return { status: 'failed', error: { code: 'READ_FAILED', message: 'busy', recoverable: true } };
    }
    if (plan === 'lost') return new Promise(() => {});
    if (plan === 'slow') {
      await cancelled;
      return { status: 'cancelled' };
    }
    return completed;
  },
  refuse: ({ tool_params, attempt }) =>
    planOf(String(tool_params.path)) === 'stale' && attempt === 1
      ? { status: 'failed', error: { code: 'APPROVAL_STALE', message: 'it changed', recoverable: false } }
      : undefined,
  preview: () => digestOf('a'),
};

/** How the person reacts to each event. Everything is sent until there is a response, over restarts too. */
export function actAsPlanned(
  person: RemotePerson,
  isOver: () => boolean,
): { readonly unsettled: Set<string> } {
  const unsettled = new Set<string>();
  const failures = person.problems;

  const act = (what: string, send: () => Promise<unknown>) => {
    unsettled.add(what);
    untilAnswered(send, isOver)
      .catch((error: unknown) => {
        const isRefusal = error instanceof ApiError && (error.status === 409 || isOver());
        if (!isRefusal) failures.push(`${what}: ${String(error)}`);
      })
      .finally(() => unsettled.delete(what));
  };

  person.onEvent = (event: CountersignEvent) => {
    if (event.event === 'tool.approval_request') asked(event.data);
    if (event.event === 'approval.updated') previewed(event.data);
    if (event.event === 'approval.resolved' && event.data.status === 'approved') approved(event.data.tool_id);
  };

  const pathsById = new Map<string, string>();
  const runsById = new Map<string, string>();

  function asked({
    approval_id,
    project_id,
    tool_id,
    tool_params,
    context,
  }: EventPayload<'tool.approval_request'>) {
    const path = String(tool_params.path);
    pathsById.set(tool_id, path);
    if (context.run_id !== null) runsById.set(tool_id, context.run_id);
    const params = { approval_id, project_id };
    const plan = planOf(path);
    if (plan === 'reject') {
      const body = { reason: 'no', message: 'Leave that file alone.' };
      act(`reject ${path}`, () => decide(person.client, { decision: 'rejected', params, body }));
    }
    if (plan === 'withdraw') act(`cancel ${path}`, () => cancel(tool_id));
    if (plan === 'stop') {
      const run_id = String(context.run_id);
      act(`stop ${run_id}`, () => person.client.stopRun({ params: { run_id } }));
    }
  }

  /** Approves what the card shows, once it has a preview. */
  function previewed({ approval_id, project_id, digest, tool_id }: EventPayload<'approval.updated'>) {
    const path = pathsById.get(tool_id) ?? '';
    const plan = planOf(path);
    if (digest === null || !['approve', 'slow', 'stale', 'edit', 'lost'].includes(plan)) return;
    const edited = plan === 'edit' ? { tool_params: { path, content: 'edited' } } : {};
    const body = { digest, ...edited };
    act(`approve ${path} ${approval_id}`, () =>
      decide(person.client, { decision: 'approved', params: { approval_id, project_id }, body }),
    );
  }

  function approved(toolId: string) {
    const path = pathsById.get(toolId) ?? '';
    if (planOf(path) === 'slow') act(`cancel ${path}`, () => cancel(toolId));
  }

  const cancel = (tool_id: string) => person.client.cancelExecution({ params: { tool_id }, body: {} });

  return { unsettled };
}
