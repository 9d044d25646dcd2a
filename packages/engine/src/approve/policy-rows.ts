import type { PolicyFile } from '@countersign/protocol';
import type { Transaction, Unit } from '../store.ts';

export const noRules: PolicyFile = { version: 1, rules: [] };

/** Inside a unit: stores a person's policy as a new version. `file`: the file that it is a copy of. */
export function* putPolicy(
  tx: Transaction,
  userId: string,
  { policy, file, now }: { readonly policy: PolicyFile; readonly file: string | null; readonly now: number },
): Unit<void> {
  const before = yield* tx.get('policies', userId);
  const written = { policy, file, version: (before?.version ?? 0) + 1, updated_at: now };
  if (before) yield* tx.update('policies', userId, written);
  else yield* tx.insert('policies', { id: userId, user_id: userId, ...written });
}

/** Inside a unit: makes every node judge by rules that changed elsewhere, also the calls that wait. */
export function* raisePolicyVersion(tx: Transaction, userId: string, now: number): Unit<void> {
  const row = yield* tx.get('policies', userId);
  yield* putPolicy(tx, userId, { policy: row?.policy ?? noRules, file: row?.file ?? null, now });
}
