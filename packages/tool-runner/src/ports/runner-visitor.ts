import { closeSync, openSync } from 'node:fs';
import { type ClientRequest, get, type RequestOptions, request } from 'node:http';
import { type Duplex, pipeline, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { ToolErrorValue } from '@countersign/protocol';
import type { JobPort } from '../commands/background-jobs.ts';
import { doorName } from './runner-door.ts';

/** Returns the ports on which background jobs of a workspace listen. Empty if no runner has the workspace. */
export function listJobPorts(stateFolder: string): Promise<readonly JobPort[]> {
  return new Promise((resolve, reject) => {
    const asking = visit(stateFolder, (socketPath) => get({ socketPath, path: '/ports' }));
    asking?.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve((JSON.parse(text) as { ports: readonly JobPort[] }).ports));
    });
    asking?.on('error', (error: NodeJS.ErrnoException) =>
      ['ENOENT', 'ECONNREFUSED'].includes(error.code ?? '') ? resolve([]) : reject(error),
    );
    if (!asking) resolve([]);
  });
}

/** Connects to a port of a background job. Throws an Error if the job does not listen there any more. */
export function connectToJob(stateFolder: string, { job_id, port }: JobPort): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const options: RequestOptions = { method: 'CONNECT', path: `${job_id}:${port}` };
    const asking = visit(stateFolder, (socketPath) => request({ socketPath, ...options }));
    if (!asking) return reject(new Error('no runner has this workspace'));
    asking.on('connect', ({ statusCode }, socket, head) => {
      if (statusCode !== 200) return reject(new Error(`nothing listens on port ${port} any more`));
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    asking.on('error', reject);
    asking.end();
  });
}

/**
 * Asks the runner of a workspace for something (`RunnerDoor.answers`). Returns undefined if no runner has the workspace, or
 * one that does not know the request.
 */
export function askRunner(
  stateFolder: string,
  path: string,
  lines: Iterable<string>,
): Promise<{ readonly answer: unknown } | undefined> {
  return new Promise((resolve, reject) => {
    const asking = visit(stateFolder, (socketPath) => request({ socketPath, path, method: 'POST' }));
    if (!asking) return resolve(undefined);
    asking.on('response', (response) => {
      text(response).then((body) => {
        const answer: unknown = JSON.parse(body);
        if (response.statusCode === 200) return resolve({ answer });
        if (response.statusCode === 404) return resolve(undefined);
        reject(new Error((answer as ToolErrorValue).message));
      }, reject);
    });
    asking.on('error', (error: NodeJS.ErrnoException) =>
      ['ENOENT', 'ECONNREFUSED'].includes(error.code ?? '') ? resolve(undefined) : reject(error),
    );
    pipeline(Readable.from(lines), asking, () => {});
  });
}

/** A socket's path may have at most 108 bytes. A path through the folder's descriptor is always short enough. */
function visit(stateFolder: string, ask: (socketPath: string) => ClientRequest): ClientRequest | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(stateFolder, 'r');
  } catch {
    return undefined;
  }
  const asking = ask(`/proc/self/fd/${descriptor}/${doorName}`);
  asking.once('close', () => closeSync(descriptor));
  return asking;
}
