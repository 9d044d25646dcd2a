import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { CountersignError } from '@countersign/protocol';
import type { CommandContext } from './command-context.ts';
import type { Terminal } from './terminal.ts';

const help = `countersign audit: the log of what was decided and done, and whether anybody changed it

  countersign audit verify --database FILE|URL [--user ID] [--witness HASH] [--json]
      computes the chain of hashes again; ends with 1 when a row was changed, taken out or cut off

  countersign audit export --database FILE|URL [--user ID] [--format ndjson|csv]
      prints every row

Options
  --database FILE|URL   a SQLite file, or postgres://… (default: COUNTERSIGN_DATABASE in the environment,
                        which is the place for a URL with a password)
  --user ID             one person (default: everybody)
  --witness HASH        a head that one of the person's runners kept; it must be in the chain
  --format FORMAT       ndjson (default) or csv
  --json                verify: one JSON line for each person

It reads beside a server that is running, and writes nothing.
`;

/** `countersign audit …` (DA-4). */
export async function auditCommand(
  argv: readonly string[],
  { terminal, env }: CommandContext,
): Promise<number> {
  const [action, ...rest] = argv;
  if (action === undefined || action === '--help' || action === '-h' || rest.includes('--help')) {
    await terminal.write(help);
    return 0;
  }
  if (action !== 'verify' && action !== 'export') throw usage(`There is no "audit ${action}"`);
  const { values } = parseArgs({
    args: rest,
    options: {
      database: { type: 'string' },
      user: { type: 'string' },
      witness: { type: 'string' },
      format: { type: 'string', default: 'ndjson' },
      json: { type: 'boolean', default: false },
    },
  });
  const database = values.database ?? env.COUNTERSIGN_DATABASE;
  if (database === undefined || database === '') {
    const here = await databaseHere(env);
    throw usage(
      `Which database? Name it with --database${here ? `. What "countersign up" keeps for this directory is ${here}` : ''}`,
    );
  }
  if (!['ndjson', 'csv'].includes(values.format)) throw usage(`There is no format "${values.format}"`);
  if (values.witness !== undefined && values.user === undefined) {
    throw usage('A witness speaks for one person: name them with --user');
  }
  if (!/^postgres(ql)?:\/\//.test(database) && !existsSync(database)) {
    throw usage(`There is no database "${database}"`);
  }
  return runAudit({ ...values, action, database }, terminal);
}

/** A person does not know where it is; which one is meant is still theirs to say. */
async function databaseHere(env: CommandContext['env']): Promise<string | undefined> {
  const { personsFolders, workspaceAt } = await import('@countersign/tool-runner');
  try {
    const { stateFolder } = workspaceAt('.', { folders: personsFolders(env) });
    const path = join(stateFolder, 'server', 'countersign.db');
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined; // not a folder that could be a workspace
  }
}

/** The server's own program reads its database: how it is kept is not for this package to know. */
async function runAudit(request: object, terminal: Terminal): Promise<number> {
  const program = fileURLToPath(new URL('../../server/src/audit-main.ts', import.meta.url));
  const child = spawn(execPath, ['--disable-warning=ExperimentalWarning', program], {
    env: { ...process.env, COUNTERSIGN_AUDIT_REQUEST: JSON.stringify(request) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 3));
  });
  let problem = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    problem += text;
  });
  try {
    for await (const text of child.stdout.setEncoding('utf8')) await terminal.write(text as string);
  } finally {
    child.stdout.destroy(); // nobody reads on: the program ends by itself
  }
  const code = await ended;
  if (code > 1) throw new Error(problem.trim() || 'The audit log could not be read.');
  return code;
}

const usage = (problem: string): CountersignError =>
  new CountersignError('USAGE', { problem, help: 'countersign audit --help' });
