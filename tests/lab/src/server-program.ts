/**
 * `countersign serve` with its modules loaded ahead of use: it reports that it is ready, waits for its options and
 * environment, then runs the real program. So a loop of many kills need not wait for Node to load everything each time.
 */
import { enableCompileCache, flushCompileCache } from 'node:module';

enableCompileCache(process.env.E2E_COMPILE_CACHE);
const { serveProgram } = await import('../../../apps/server/src/serve-program.ts');
flushCompileCache();

export interface ServeOrder {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}
export type ServeNews = { readonly said: string } | { readonly failed: string } | { readonly ready: true };

const tell = (news: ServeNews) => process.send?.(news);

// The parent process is gone: end, because nobody else would stop this process.
process.once('disconnect', () => process.exit());
process.once('message', (order: ServeOrder) => {
  const stopped = () => new Promise<void>((resolve) => process.once('SIGTERM', () => resolve()));
  serveProgram(order.argv, {
    env: order.env,
    write: (said) => tell({ said }),
    writeError: () => {},
    stopped,
  }).then(
    () => process.disconnect(),
    (error: Error) => {
      tell({ failed: error.message });
      process.exitCode = 2;
      process.disconnect();
    },
  );
});
tell({ ready: true });
