/** `npm start [-- DIR]`: `countersign up`, in a sample workspace when none is named. */
import { argv, chdir, env } from 'node:process';

// npm runs scripts at the root; a folder is meant from where the person stands.
if (env.INIT_CWD) chdir(env.INIT_CWD);

argv.splice(2, 0, 'up');
await import('../apps/cli/bin/countersign.mjs');
