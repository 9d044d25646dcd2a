import { memoryStore } from './memory-store.ts';
import { storeContract } from './store-contract.ts';

storeContract('in memory', async (bus) => {
  const store = memoryStore({ bus });
  return { store, remove: () => store.close() };
});
