/** `npm start [-- DIR]`: runs `countersign up`, in a sample workspace when no folder is given. */
import { argv, chdir, env } from 'node:process';

// npm runs scripts in the root; resolve the folder from where the person typed the command.
if (env.INIT_CWD) chdir(env.INIT_CWD);

argv.splice(2, 0, 'up');
await import('../apps/cli/bin/countersign.mjs');
