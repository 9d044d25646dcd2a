/** `npm start [-- DIR]`: `countersign up`, in a sample workspace when none is named. */
import { argv, chdir, env, kill, pid, ppid } from 'node:process';

// npm runs scripts at the root; a folder is meant from where the person stands.
if (env.INIT_CWD) chdir(env.INIT_CWD);

// The shell between npm and us passes no signal on. When it has been ended, so are we.
const shell = ppid;
setInterval(() => {
  if (process.ppid !== shell) kill(pid, 'SIGTERM');
}, 500).unref();

argv.splice(2, 0, 'up');
await import('../apps/cli/bin/countersign.mjs');
