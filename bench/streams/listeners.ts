/** Opens many streams at once and reports when each has its whole snapshot. Bytes are counted and dropped. */
import { connect, type Socket } from 'node:net';
import { announceReady, inputOf } from '../processes/program.ts';

const { address, token } = inputOf<{ address: string; token: string }>();
const { hostname, port } = new URL(address);
const whole = Buffer.from(': listening');
const frame = Buffer.from('event: tool.approval_request');

announceReady({}, { open });

interface Opened {
  /** Time of each stream that got its whole snapshot. */
  readonly milliseconds: readonly number[];
  /** Number of requests received on all streams. */
  readonly requests: number;
}

async function open({ streams }: { streams: number }): Promise<Opened> {
  const sockets: Socket[] = [];
  let requests = 0;
  const opened = Array.from(
    { length: streams },
    () =>
      new Promise<number | undefined>((resolve) => {
        const startedAt = performance.now();
        const socket = connect(Number(port), hostname);
        sockets.push(socket);
        const head = [
          'GET /my/stream HTTP/1.1',
          `Host: ${hostname}:${port}`,
          `Authorization: Bearer ${token}`,
        ];
        socket.write(`${head.join('\r\n')}\r\n\r\n`);
        let rest: Buffer = Buffer.alloc(0);
        socket.on('data', (chunk) => {
          const text = Buffer.concat([rest, chunk]);
          for (let at = text.indexOf(frame); at >= 0; at = text.indexOf(frame, at + 1)) requests += 1;
          if (text.includes(whole)) resolve(performance.now() - startedAt);
          rest = text.subarray(Math.max(0, text.length - frame.length + 1));
        });
        socket.once('close', () => resolve(undefined)); // the server has cut the connection
        socket.once('error', () => {});
      }),
  );
  const milliseconds = (await Promise.all(opened)).filter((time) => time !== undefined);
  for (const socket of sockets) socket.destroy();
  return { milliseconds, requests };
}
