/** Requests the health of the server repeatedly, as a load balancer would: one at a time, on its own connection. */
import { Agent, get } from 'node:http';
import { announceReady, inputOf } from '../processes/program.ts';

const { address } = inputOf<{ address: string }>();
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
let isStopped = false;
let probing: Promise<readonly number[]> = Promise.resolve([]);

announceReady({}, { start, stop });

function start(): void {
  isStopped = false;
  probing = probe();
}

/** Response times in milliseconds. */
function stop(): Promise<readonly number[]> {
  isStopped = true;
  return probing;
}

async function probe(): Promise<readonly number[]> {
  const times: number[] = [];
  while (!isStopped) {
    const startedAt = performance.now();
    await new Promise<void>((resolve, reject) => {
      get(`${address}/healthz`, { agent }, (response) => {
        response.resume();
        response.once('end', resolve);
      }).once('error', reject);
    });
    times.push(performance.now() - startedAt);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return times;
}
