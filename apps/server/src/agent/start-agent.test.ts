import { Engine, systemClock } from '@countersign/engine';
import { SecretMasker } from '@countersign/policy';
import { openSqliteStore } from '@countersign/store';
import { LocalBus, projectRow, sessionRow } from '@countersign/testing';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { loadConfig } from '../config.ts';
import { Spans } from '../observability/spans.ts';
import { startAgent } from './start-agent.ts';

it('[AG-1] without any setting, the manual model answers; a model without its key is said to lack it', async () => {
  const bus = new LocalBus();
  const store = await openSqliteStore({ path: ':memory:', bus });
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const masker = new SecretMasker({ digest: () => 'x' });
  const engine = new Engine({ store, bus, clock: systemClock, masker, onError });
  const project = projectRow();
  const session = sessionRow();
  await store.write(function* (tx) {
    yield* tx.insert('projects', project);
    yield* tx.insert('sessions', session);
  });
  await engine.start();
  const parts = { engine, store, bus, logger: pino({ level: 'silent' }), observer: new Spans() };
  const runs = await startAgent({ ...parts, config: loadConfig({ env: {} }) });
  const caller = { userId: project.user_id };
  const { run_id } = await runs.start({ caller, project, session, content: 'Hello' });
  await runs.whenIdle();
  expect(await runs.get(caller, run_id)).toMatchObject({ status: 'completed', model: 'manual', step: 1 });
  expect(runs.model()).toEqual({ model: 'manual', problem: null });
  await runs.close();
  const keyless = await startAgent({
    ...parts,
    config: loadConfig({ env: { COUNTERSIGN_MODEL: 'anthropic:claude' } }),
  });
  expect(keyless.model()).toEqual({
    model: 'anthropic:claude',
    problem:
      'The model anthropic:claude needs an Anthropic key (modelKey, or ANTHROPIC_API_KEY). Set it, or use the built-in manual model.',
  });
  await keyless.close();
  engine.close();
  expect(errors).toEqual([]);
});
