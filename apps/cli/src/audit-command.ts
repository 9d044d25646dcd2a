import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { languageOf } from '@countersign/words';
import { askedLanguage, type CommandContext, usageOf } from './command-context.ts';
import { helpText, readOptions } from './command-options.ts';
import type { Terminal } from './terminal.ts';
import type { Words } from './words.ts';

const usage = usageOf('audit');

/** `countersign audit …` (DA-4). */
export async function auditCommand(
  argv: readonly string[],
  { terminal, env, words: language }: CommandContext,
): Promise<number> {
  const [action, ...rest] = argv;
  if (action === undefined || action === '--help' || action === '-h' || rest.includes('--help')) {
    await terminal.write(helpText('audit', language(askedLanguage(argv))));
    return 0;
  }
  const { values } = readOptions('audit', rest);
  const words = language(values.lang);
  if (action !== 'verify' && action !== 'export') throw usage(words.noCommand(`audit ${action}`));
  const database = values.database ?? env.COUNTERSIGN_DATABASE;
  if (database === undefined || database === '') {
    throw usage(words.audit.whichDatabase(await databaseHere(env)));
  }
  if (!['ndjson', 'csv'].includes(values.format)) throw usage(words.audit.noFormat(values.format));
  if (values.witness !== undefined && values.user === undefined) {
    throw usage(words.audit.witnessNeedsUser);
  }
  if (!/^postgres(ql)?:\/\//.test(database) && !existsSync(database)) {
    throw usage(words.audit.noDatabase(database));
  }
  const lang = languageOf(env, values.lang);
  return runAudit({ ...values, lang, action, database }, terminal, words);
}

/** The database of this folder's `countersign up`, if there is one. */
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

/** Runs the server's own program on its database: this package does not know the schema. */
async function runAudit(request: object, terminal: Terminal, words: Words): Promise<number> {
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
    child.stdout.destroy(); // ends the program if our own reader has gone
  }
  const code = await ended;
  if (code > 1) throw new Error(problem.trim() || words.audit.unreadable);
  return code;
}
