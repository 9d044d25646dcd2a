import { openPostgresStore, PostgresBus } from '@countersign/store';
import { type TemporaryPostgres, temporaryPostgres } from '@countersign/testing';
import { afterAll, beforeAll } from 'vitest';
import { type RaceNode, startNode } from './race-node.ts';
import { describeRaces } from './races.ts';

let postgres: TemporaryPostgres;
beforeAll(async () => {
  postgres = await temporaryPostgres();
});
afterAll(() => postgres.stop());

describeRaces('two servers on PostgreSQL', async () => {
  const url = await postgres.createDatabase();
  const open = async (isFirst: boolean): Promise<RaceNode> => {
    const bus = await PostgresBus.open({
      url,
      onTrouble: (error) => {
        throw error;
      },
    });
    const store = await openPostgresStore({ url, bus });
    return startNode(store, bus, { isFirst, close: () => bus.close() });
  };
  const first = await open(true);
  return [first, await open(false)];
});
