import { EngineFixture, settle } from '@countersign/testing';
import { expect, it } from 'vitest';

it('reports no error when engine and store are closed while the slow tick is under way', async () => {
  const fixture = await EngineFixture.open();
  const read = fixture.store.read.bind(fixture.store);
  const closing = Promise.withResolvers<void>();
  const ticking = Promise.withResolvers<void>();
  fixture.store.read = async (unit) => {
    ticking.resolve();
    await closing.promise;
    return read(unit);
  };
  void fixture.clock.advance(5_000);
  await ticking.promise;
  fixture.engine.close();
  await fixture.store.close();
  closing.resolve();
  await settle();
  expect(fixture.errors).toEqual([]);
});
