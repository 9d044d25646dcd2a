/**
 * `countersign connect` with its modules loaded ahead of use: it reports that it is ready, waits for its arguments,
 * then runs the real program. It can be told at which step of the next call to kill itself.
 */
import { enableCompileCache, flushCompileCache } from 'node:module';
import type { PlannedKill } from './kill-steps.ts';

const { E2E_COMPILE_CACHE, E2E_CHANGE_LOG = '' } = process.env;
// Remove what the real program would not have in its environment.
delete process.env.E2E_COMPILE_CACHE;
delete process.env.E2E_CHANGE_LOG;
enableCompileCache(E2E_COMPILE_CACHE);
const { installKillSteps } = await import('./kill-steps.ts');
const { main } = await import('../../../apps/cli/src/main.ts');
await import('../../../apps/cli/src/connect/connect-command.ts');
flushCompileCache();

export type RunnerOrder = { readonly connect: readonly string[] } | { readonly die: PlannedKill };
export type RunnerNews = { readonly ready: true } | { readonly armed: true };

const tell = (news: RunnerNews): void => {
  process.send?.(news);
};
const arm = await installKillSteps(E2E_CHANGE_LOG);

// The parent process is gone: end, because nobody else would stop this process.
process.once('disconnect', () => process.exit());
process.on('message', (order: RunnerOrder) => {
  if ('die' in order) {
    arm(order.die);
    tell({ armed: true });
    return;
  }
  void main(['connect', ...order.connect]).then((status) => process.exit(status));
});
tell({ ready: true });
