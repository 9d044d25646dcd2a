import { type CustomTool, canonicalJson, isCustomToolName } from '@countersign/protocol';
import { runnerKey } from './runner-key.ts';
import { runnerNews } from './runner-news.ts';
import type { Reading, Transaction, Unit } from './store.ts';

/**
 * The tools that the person registered in a workspace (RN-8): what its runner told last. They are kept while it is away,
 * as the catalogue is; where two programs served the workspace, the later one knows.
 */
export function* registeredTools(
  tx: Reading,
  userId: string,
  workspace: string,
): Unit<readonly CustomTool[]> {
  const runners = (yield* tx.runnersOf(userId)).filter((runner) => runner.workspace === workspace);
  const [newest] = runners.toSorted(
    (a, b) => Number(b.connected) - Number(a.connected) || b.last_seen_at - a.last_seen_at,
  );
  // A row may have been written by another version.
  return (newest?.custom_tools ?? []).filter(({ name }) => isCustomToolName(name));
}

/** Keeps what a runner told of its tools. Whoever lists tools hears that there are others, if there are. */
export function* rememberTools(
  tx: Transaction,
  userId: string,
  runnerId: string,
  tools: readonly CustomTool[],
  now: number,
): Unit<void> {
  const key = runnerKey(userId, runnerId);
  const row = yield* tx.get('runners', key);
  if (!row || canonicalJson(row.custom_tools) === canonicalJson(tools)) return;
  yield* tx.update('runners', key, { custom_tools: tools });
  tx.announce(userId, {
    events: yield* runnerNews(tx, row, now),
    audit: [
      { action: 'tools.registered', subject: runnerId, data: { tools: tools.map(({ name }) => name) } },
    ],
  });
}
