import { homedir } from 'node:os';
import { join } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/** The person's own settings: credentials, the ceiling. */
export const configFolder = (env: Environment): string =>
  join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config'), 'countersign');

/** What programs keep between starts: runner ids, journals, undo copies. */
export const stateFolder = (env: Environment): string =>
  join(env.XDG_STATE_HOME || join(env.HOME || homedir(), '.local', 'state'), 'countersign');
