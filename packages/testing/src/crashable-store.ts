import type { Store } from '@countersign/engine';

/** A store of a process that may die: after `kill` nothing is written and no promise settles. */
export interface CrashableStore extends Store {
  kill(): void;
  /** Resolves when no write is on its way to the database any more, so that a dead process holds no lock. */
  quiet(): Promise<void>;
  readonly isDead: boolean;
  /** How many writes were committed. */
  readonly commits: number;
  /** Called before and after each write; calling `kill` in it is a crash just before or just after the commit. */
  onWrite: ((moment: 'before' | 'after', commit: number) => void) | undefined;
}

export function crashableStore(store: Store, { isShared = store.isShared } = {}): CrashableStore {
  let isDead = false;
  let commits = 0;
  const underway = new Set<Promise<unknown>>();
  const never = new Promise<never>(() => {});
  const mortal: CrashableStore = {
    onWrite: undefined,
    get isDead() {
      return isDead;
    },
    get commits() {
      return commits;
    },
    kill() {
      isDead = true;
    },
    async quiet() {
      await Promise.allSettled(underway);
    },
    now: () => store.now(),
    get backlog() {
      return store.backlog;
    },
    isShared,
    async write(unit) {
      if (isDead) return never;
      const written = store.write(function* (tx) {
        const commit = commits + 1;
        mortal.onWrite?.('before', commit);
        if (isDead) throw new Error('died before the commit');
        const done = yield* unit(tx);
        commits = commit;
        return done;
      });
      underway.add(written);
      const value = await written
        .catch((error: unknown) => (isDead ? never : Promise.reject(error)))
        .finally(() => underway.delete(written));
      mortal.onWrite?.('after', commits);
      return isDead ? never : value;
    },
    async read(unit) {
      if (isDead) return never;
      const value = await store.read(unit);
      return isDead ? never : value;
    },
    async close() {},
  };
  return mortal;
}
