/** `npm start`: the tour when no arguments are given, otherwise `countersign` with them. */
if (process.argv.length === 2) process.argv.push('policy', 'tour');
await import('../apps/cli/bin/countersign.mjs');
