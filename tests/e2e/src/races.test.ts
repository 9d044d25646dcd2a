import { InProcessBus, openSqliteStore } from '@countersign/store';
import { memoryStore } from '@countersign/testing';
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
