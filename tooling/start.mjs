/** `npm start`: a place to try decisions when no arguments are given, otherwise `countersign` with them. */
if (process.argv.length === 2) process.argv.push('policy', 'try');
await import('../apps/cli/bin/countersign.mjs');
