import { Refusal, type Store } from '@countersign/engine';
import type { routes } from '@countersign/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AuthenticatedCaller } from '../../auth/authenticator.ts';
import { requireRoomForStream } from '../admission.ts';
import { EventStream } from '../event-stream.ts';
import { ownProject } from '../own-rows.ts';
import { securityHeaders } from '../request-guard.ts';
import type { Handlers, Input } from '../route-types.ts';
import type { ServerParts } from '../server-parts.ts';
import { workspaceRoot } from '../views.ts';

type StreamQuery = Input<(typeof routes)['projectStream']>['query'];

/** Event streams (EV-1 to EV-4). */
export function streamHandlers(parts: ServerParts) {
  const { store, engine, config, authenticator, bindings, openStreams } = parts;

  return {
    async projectStream({ caller, params, query, request, reply }) {
      await ownProject(store, caller, params.project_id);
      return listen(caller, params.project_id, query, request, reply);
    },
    personStream: ({ caller, query, request, reply }) => listen(caller, undefined, query, request, reply),
  } satisfies Partial<Handlers>;

  async function listen(
    caller: AuthenticatedCaller,
    projectId: string | undefined,
    query: StreamQuery,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<undefined> {
    const runner =
      query.runner === undefined ? undefined : await runnerOf(caller, projectId, query.runner, query);
    requireRoomForStream(parts, caller);
    const lastEventId = readEventId(request.headers['last-event-id'] ?? query.last_event_id);
    reply.hijack();
    const stream = new EventStream(reply.raw, config.streamBufferBytes);
    const connection = { caller, end: () => stream.end() };
    openStreams.add(connection);
    stream.open(corsOf(reply));
    let close: (() => void) | undefined;
    let isGone = false;
    const beat = setInterval(() => void keepAlive(), config.streamHeartbeatSeconds * 1000);
    reply.raw.once('close', () => {
      isGone = true;
      clearInterval(beat);
      openStreams.delete(connection);
      close?.();
    });
    const keepAlive = async (): Promise<void> => {
      if (!stream.comment('heartbeat') || !(await authenticator.isStillValid(caller).catch(() => true)))
        stream.end();
    };
    try {
      const { userId } = caller;
      const options = {
        userId,
        projectId,
        runnerId: runner?.id,
        mayExecute: mayExecute(caller),
        lastEventId,
        ...(runner && { runner }),
      };
      close = await engine.openStream(options, stream);
      if (isGone) close();
      else stream.comment('listening');
    } catch (error) {
      request.log.error({ err: error }, 'opening a stream failed');
      stream.end();
    }
    return undefined;
  }

  /** The runner that this client claims to be, checked against its token. */
  async function runnerOf(
    caller: AuthenticatedCaller,
    projectId: string | undefined,
    id: string,
    { workspace: named, capabilities = '', instance }: StreamQuery,
  ) {
    if (!mayExecute(caller)) throw new Refusal('FORBIDDEN', { scope: 'runner' });
    const project = projectId === undefined ? undefined : await ownProject(store, caller, projectId);
    const workspace = named === undefined ? project?.workspace : workspaceRoot(named);
    if (workspace === undefined || workspace === null) {
      throw new Refusal('INVALID_QUERY', { problem: 'workspace: a runner names the root that it serves' });
    }
    const list = capabilities.split(',').filter((word) => word !== '');
    const runner = { id, userId: caller.userId, workspace, capabilities: list };
    const claimed = { runner_id: id, instance };
    // Check before binding: a token must not be bound if it is refused because another program is connected.
    await engine.requireFree({
      ...runner,
      instance: await bindings.requireNotBoundElsewhere(caller, claimed),
    });
    const bound = await bindings.runnerOfStream(caller, claimed);
    // Last, so that a refused stream changes nothing.
    if (project?.workspace === null) await setWorkspace(store, project.id, workspace);
    return { ...runner, instance: bound.instance };
  }
}

/** Sets the workspace of a project that has none. The first runner to name one wins. */
function setWorkspace(store: Store, projectId: string, workspace: string): Promise<void> {
  return store.write(function* (tx) {
    const project = yield* tx.get('projects', projectId);
    if (project?.workspace === null) yield* tx.update('projects', projectId, { workspace });
  });
}

/** Only a bearer token that may report results can execute, never a cookie. */
const mayExecute = ({ use, scope }: AuthenticatedCaller): boolean =>
  use === 'bearer' && (scope === 'runner' || scope === 'person');

/** An invalid id becomes an unknown one, so that the client gets `stream.reset`. */
function readEventId(value: string | string[] | undefined): number | undefined {
  if (value === undefined || value === '') return undefined;
  const text = String(value);
  return /^\d{1,15}$/.test(text) ? Number(text) : Number.MAX_SAFE_INTEGER;
}

/** The headers that our hooks have set, because Fastify does not send them with a hijacked reply. */
function corsOf(reply: FastifyReply): Record<string, string> {
  const origin = reply.getHeader('access-control-allow-origin');
  return {
    ...securityHeaders,
    ...(origin !== undefined && { 'access-control-allow-origin': String(origin), vary: 'Origin' }),
  };
}
