import {
  type Bus,
  type Caller,
  type CallRequest,
  Engine,
  type Store,
  systemClock,
} from '@countersign/engine';
import { SecretMasker } from '@countersign/policy';
import { testProject } from '@countersign/testing';

/** A server's engine on a database that others may share. */
export interface RaceNode {
  readonly engine: Engine;
  readonly store: Store;
  close(): Promise<void>;
}

export const person: Caller = { userId: 'ada', tokenId: 'token-person', scope: 'person' };
export const runnerCaller: Caller = { userId: 'ada', tokenId: 'token-runner', scope: 'runner' };
export const runner = { id: 'runner-1', userId: 'ada', workspace: '/workspace', capabilities: [] };

export async function startNode(
  store: Store,
  bus: Bus,
  { isFirst, close = async () => {} }: { isFirst: boolean; close?: () => Promise<void> },
): Promise<RaceNode> {
  const masker = new SecretMasker({ digest: (text) => `length ${text.length}` });
  const onError = (error: unknown) => {
    throw error;
  };
  const engine = new Engine({ store, bus, clock: systemClock, masker, onError });
  if (isFirst) {
    await store.write(function* (tx) {
      yield* tx.insert('projects', testProject);
      const session = { id: 'session-1', user_id: 'ada', project_id: testProject.id, title: '' };
      yield* tx.insert('sessions', {
        ...session,
        created_at: 0,
        mode: 'ask',
        opened_by: null,
        last_message_at: null,
        deleted_at: null,
      });
    });
  }
  await engine.start();
  const stream = {
    userId: 'ada',
    projectId: undefined,
    runnerId: runner.id,
    lastEventId: undefined,
    mayExecute: true,
    runner,
  };
  // Both nodes know the runner: the one that approves signals it.
  await engine.openStream(stream, { send: () => true, end: () => {} });
  // Send heartbeats like a live runner; without them it is given up after 30 s, and all races together may take longer.
  let beating = Promise.resolve();
  const heartbeat = setInterval(() => {
    beating = engine.dispatcher.heartbeat(runnerCaller, runner.id, []).then(() => {}, onError);
  }, 1_000);
  return {
    engine,
    store,
    async close() {
      clearInterval(heartbeat);
      await beating;
      engine.close();
      await store.close();
      await close();
    },
  };
}

let calls = 0;
export function requestTo(toolName: string, toolParams: CallRequest['toolParams']): CallRequest {
  calls += 1;
  return {
    userId: 'ada',
    project: testProject,
    sessionId: 'session-1',
    toolName,
    toolParams,
    toolCallId: `call_${calls}`,
    agent: 'Agent',
    requestedBy: 'run',
    context: { message_id: null, run_id: null, step: null, excerpt: '' },
  };
}
