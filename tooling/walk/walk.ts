/**
 * `node tooling/walk/walk.ts [write|shell]`: lists the product files that one approved call goes through, from the
 * person's message to the agent's answer, in the server and in the runner. A file counts if one of its functions ran
 * meanwhile. It drives `countersign up` by commands, so it can measure any commit that has them.
 */
import { execFile, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const calls = {
  write: '/write_file path=notes.md content=Coffee',
  shell: '/shell_exec command="sort notes.md > sorted.md && wc -l sorted.md"',
};
const call = Object.entries(calls).find(([kind]) => kind === (process.argv[2] ?? 'write'))?.[1];
if (!call) throw new Error(`Use one of: ${Object.keys(calls).join(', ')}`);

const root = fileURLToPath(new URL('../../', import.meta.url));
const parent = mkdtempSync(join(tmpdir(), 'countersign-walk-'));
const at = (name: string): string => {
  const folder = join(parent, name);
  mkdirSync(folder, { recursive: true });
  return folder;
};
const [workspace, home, counts] = [at('workspace'), at('home'), at('counts')];
writeFileSync(join(workspace, 'notes.md'), 'Tea\n');
const own = { PATH: process.env.PATH, HOME: home, COUNTERSIGN_TELEMETRY: '0' };
const command = [join(root, 'apps/cli/bin/countersign.mjs')];
const countersign = async (...args: readonly string[]): Promise<string> => {
  const { stdout } = await promisify(execFile)(process.execPath, [...command, ...args], {
    env: own,
    cwd: workspace,
  });
  return stdout;
};

const counting = { ...own, COUNTERSIGN_WALK: counts };
const hook = fileURLToPath(new URL('count-functions.ts', import.meta.url));
const up = spawn(process.execPath, [...command, 'up', workspace, '--no-open', '--json'], {
  env: { ...counting, NODE_OPTIONS: `--import=${hook}` },
  stdio: ['ignore', 'pipe', 'inherit'],
});
const pids = () =>
  readdirSync(counts).flatMap((name) => (name.endsWith('.pid') ? Number.parseInt(name, 10) : []));
const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}`);
const signal = async (mark: string): Promise<void> => {
  const living = pids().filter(isAlive);
  for (const pid of living) process.kill(pid, 'SIGUSR2');
  while (!living.every((pid) => !isAlive(pid) || existsSync(join(counts, `${pid}.${mark}`)))) await pause(20);
};
try {
  await new Promise((resolve) => up.stdout.once('data', resolve));
  await countersign('chat', '--new', '/list_directory path=.'); // loads and warms up everything
  await signal('ready');
  const chat = countersign('chat', call);
  let card: { approval_id: string; digest: string | null; risk_level: string } | undefined;
  while (card === undefined || card.digest === null) {
    const [line] = (await countersign('approvals', 'list', '--json')).split('\n').filter(Boolean);
    card = line === undefined ? undefined : JSON.parse(line);
  }
  const high = card.risk_level === 'HIGH' ? ['--high'] : [];
  await countersign('approvals', 'approve', card.approval_id, '--digest', card.digest, ...high);
  await chat;
  await signal('files');
  const files = new Set(
    readdirSync(counts)
      .filter((name) => name.endsWith('.files'))
      .flatMap((name) => readFileSync(join(counts, name), 'utf8').split('\n'))
      .filter((url) => url.startsWith('file://'))
      .map((url) => fileURLToPath(url))
      .filter(
        (file) => file.startsWith(root) && !file.includes('/node_modules/') && !file.includes('/tooling/'),
      )
      .map((file) => file.slice(root.length)),
  );
  for (const file of [...files].sort()) console.log(file);
  console.log(`${files.size} files`);
} finally {
  up.kill('SIGINT');
  await new Promise((resolve) => up.once('exit', resolve));
  rmSync(parent, { recursive: true, force: true });
}
