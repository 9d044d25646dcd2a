import { closeSync, openSync } from 'node:fs';
import { type ClientRequest, get, type RequestOptions, request } from 'node:http';
import type { Duplex } from 'node:stream';
import type { JobPort } from '../commands/background-jobs.ts';
import { doorName } from './port-door.ts';

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
