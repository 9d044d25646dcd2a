/**
 * The cheapest server that keeps records, as a lower bound for ours: it pushes and waits like the bare floor, and
 * stores each step with its event and audit row in a flushed commit, which concurrent steps share. It has no tokens, no
 * schema and no policy, and does not check the content of a step.
 */
import { createHash, randomUUID } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { announceReady, inputOf } from '../processes/program.ts';
import { callsOf } from './calls.ts';
import { readParams, writeParams } from './contents.ts';

const { folder } = inputOf<{ folder: string }>();
const database = new DatabaseSync(`${folder}/recorded-floor.db`);
database.exec(`
  pragma journal_mode = wal;
  pragma synchronous = full;
  create table executions (id text primary key, tool_name text, tool_params text, status text, result text) without rowid;
  create table events (id integer primary key, type text, data text);
  create table audit (id integer primary key, hash text, data text);
`);
const insertExecution = database.prepare('insert into executions values (?, ?, ?, ?, null)');
const selectExecution = database.prepare('select status from executions where id = ?');
const updateExecution = database.prepare('update executions set status = ?, result = ? where id = ?');
const insertEvent = database.prepare('insert into events values (?, ?, ?)');
const insertAudit = database.prepare('insert into audit values (?, ?, ?)');
const begin = database.prepare('begin immediate');
const commit = database.prepare('commit');

let events = 0;
let head = '';
let units: { readonly write: () => void; readonly stored: () => void }[] = [];

/** Resolves when the row is stored, together with all others that came before the commit. */
function stored(type: string, data: string, write: () => void): Promise<void> {
  if (units.length === 0) setImmediate(store);
  const unit = () => {
    write();
    head = createHash('sha256').update(`${head}${type}${data}`).digest('hex');
    insertEvent.run(++events, type, data);
    insertAudit.run(events, head, data);
  };
  return new Promise((resolve) => {
    units.push({ write: unit, stored: resolve });
  });
}

function store(): void {
  const shared = units;
  units = [];
  begin.run();
  for (const { write } of shared) write();
  commit.run();
  for (const unit of shared) unit.stored();
}

const listeners: ServerResponse[] = [];
function push(type: string, data: string): void {
  for (const listener of listeners) listener.write(`id: ${events}\nevent: ${type}\ndata: ${data}\n\n`);
}

const waiting = new Map<string, () => void>();
/** The event to push after a step. A claim (`start`) gets a response, and nothing is pushed. */
const next: Readonly<Record<string, string>> = { preview: 'approval', approve: 'execute' };

// Connections stay open while other programs are measured.
const server = createServer({ keepAliveTimeout: 600_000 }, (request, response) => {
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hello\n\n');
    listeners.push(response);
    return;
  }
  const step = request.url?.slice(1) ?? '';
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => {
    body += chunk;
  });
  request.on('end', async () => {
    const { id } = JSON.parse(body) as { id: string };
    await stored(step, body, () => {
      selectExecution.get(id);
      updateExecution.run(step, body, id);
    });
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"success":true}');
    const type = next[step];
    if (type !== undefined) push(type, JSON.stringify({ id, asked: true }));
    if (step === 'result') waiting.get(id)?.();
    if (step === 'result') waiting.delete(id);
  });
});

async function call(type: string, tool_name: string, tool_params: object): Promise<void> {
  const id = randomUUID();
  const params = JSON.stringify(tool_params);
  const data = JSON.stringify({ id, tool_name, tool_params });
  const answered = new Promise<void>((resolve) => waiting.set(id, resolve));
  await stored(type, data, () => insertExecution.run(id, tool_name, params, type));
  push(type, data);
  await answered;
}

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  const time = callsOf({
    plain: () => call('execute', 'read_file', readParams),
    asked: () => call('request', 'write_file', writeParams),
  });
  announceReady({ address: `http://127.0.0.1:${port}` }, { time });
});
