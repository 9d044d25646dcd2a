import { InProcessBus, openSqliteStore } from '@countersign/store';
import { startNode } from './race-node.ts';
import { describeRaces } from './races.ts';

describeRaces('SQLite', async () => {
  const bus = new InProcessBus();
  const node = await startNode(await openSqliteStore({ path: ':memory:', bus }), bus, { isFirst: true });
  return [node, node];
});
