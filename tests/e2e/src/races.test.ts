import { memoryStore } from '@countersign/testing';
import { InProcessBus } from '../../../apps/server/src/store/in-process-bus.ts';
import { openSqliteStore } from '../../../apps/server/src/store/index.ts';
import { startNode } from './race-node.ts';
import { describeRaces } from './races.ts';

describeRaces('the store in memory', async () => {
  const bus = new InProcessBus();
  const node = await startNode(memoryStore({ bus }), bus, { isFirst: true });
  return [node, node];
});

describeRaces('SQLite', async () => {
  const bus = new InProcessBus();
  const node = await startNode(await openSqliteStore({ path: ':memory:', bus }), bus, { isFirst: true });
  return [node, node];
});
