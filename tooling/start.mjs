/** `npm start`: a place to try decisions, in a small sample workspace; with arguments, `countersign` with them. */
import { fileURLToPath } from 'node:url';

if (process.argv.length === 2) {
  const sample = fileURLToPath(new URL('../apps/cli/sample-workspace', import.meta.url));
  process.argv.push('policy', 'try', '--workspace', sample);
}
await import('../apps/cli/bin/countersign.mjs');
