/** Where the bridge listens, inside the command's own network. */
const port = 39_127;
/** Where the gate's socket file and the bridge's code are mounted. */
export const gatePlace = '/run/countersign/network';
export const bridgePlace = '/run/countersign/bridge.cjs';

/** What tells programs to use the gate. Node's own fetch wants to be told separately. */
export const bridgeEnvironment: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'].map((name) => [
      name,
      `http://127.0.0.1:${port}`,
    ]),
  ),
  no_proxy: 'localhost,127.0.0.1,::1',
  NO_PROXY: 'localhost,127.0.0.1,::1',
  NODE_USE_ENV_PROXY: '1',
  // A company's own certificates stand in the system's store; the person's variables for them are not passed on.
  NODE_USE_SYSTEM_CA: '1',
};

/**
 * Runs inside isolation, around a command with network: passes connections of its network on to the gate's socket
 * file, and ends with the command. It is written down as text and mounted there, so it uses nothing of this module.
 */
/* v8 ignore start -- runs in isolation, where nobody counts lines; network-gate.test.ts runs it */
function bridge(
  { net, childProcess, os }: BridgeModules,
  listenAt: number,
  gate: string,
  [ports = '', program = '', ...args]: readonly string[],
): void {
  const join = (inside: import('node:net').Socket, outside: import('node:net').Socket): void => {
    inside.pipe(outside).pipe(inside);
    inside.on('error', () => outside.destroy());
    outside.on('error', () => inside.destroy());
  };
  const listen = (at: number, greeting: string): Promise<void> =>
    new Promise((resolve) => {
      const server = net.createServer({ allowHalfOpen: true, pauseOnConnect: true }, (inside) => {
        const outside = net.connect({ path: gate, allowHalfOpen: true });
        if (greeting === '') join(inside, outside);
        else {
          outside.write(greeting);
          // The gate's answer is one short packet before anything else; it says 200 or closes.
          outside.once('data', () => join(inside, outside));
          outside.once('error', () => inside.destroy());
        }
      });
      server.on('error', () => resolve());
      server.listen(at, '127.0.0.1', resolve);
    });
  // Every process of the command gets these signals itself; we end when it has.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
  const doors = ports.split(',').filter(Boolean).map(Number);
  void Promise.all([
    listen(listenAt, ''),
    ...doors.map((door) => listen(door, `CONNECT 127.0.0.1:${door} HTTP/1.1\r\n\r\n`)),
  ]).then(() => {
    const child = childProcess.spawn(program, args, { stdio: 'inherit' });
    child.on('exit', (code, signal) =>
      process.exit(code ?? 128 + (signal ? os.constants.signals[signal] : 0)),
    );
    child.on('error', (error) => {
      console.error(error.message);
      process.exit(127);
    });
  });
}

/* v8 ignore stop */
interface BridgeModules {
  readonly net: typeof import('node:net');
  readonly childProcess: typeof import('node:child_process');
  readonly os: typeof import('node:os');
}

/** The bridge as a CommonJS file; its arguments are ports of this machine that may be reached, the program to run and that program's. */
export function bridgeSource(): string {
  const modules =
    "{ net: require('node:net'), childProcess: require('node:child_process'), os: require('node:os') }";
  return `(${bridge.toString()})(${modules}, ${port}, '${gatePlace}', process.argv.slice(2));\n`;
}
