import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { bridgePlace } from '../isolation/network-gate.ts';
import { descendants } from '../isolation/started-process.ts';
import { tryOr } from '../try-or.ts';

/** The kernel's code for a socket that listens. */
const LISTENING = '0A';

/**
 * Returns the TCP ports on which a process or one below it listens, in the network of its own. The bridge to the network gate
 * does not count.
 */
export function listeningPorts(pid: number): readonly number[] {
  const processes = [pid, ...descendants(pid)].filter((one) => !isBridge(one));
  const owned = new Set(processes.flatMap((one) => socketsOf(one)));
  if (owned.size === 0) return [];
  // Processes of one command have one network; bubblewrap itself may be outside of it.
  const last = processes.at(-1) ?? pid;
  const listening = [...socketTable(last, 'tcp'), ...socketTable(last, 'tcp6')];
  const ports = listening.filter(({ inode }) => owned.has(inode)).map(({ port }) => port);
  return [...new Set(ports)].sort((one, other) => one - other);
}

const isBridge = (pid: number): boolean =>
  tryOr(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'), '').split('\0')[1] === bridgePlace;

/** Returns the inodes of a process's sockets. */
function socketsOf(pid: number): string[] {
  const names = tryOr(() => readdirSync(`/proc/${pid}/fd`), []);
  return names.flatMap((name) => {
    const target = tryOr(() => readlinkSync(`/proc/${pid}/fd/${name}`), '');
    return /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? [];
  });
}

function socketTable(
  pid: number,
  protocol: 'tcp' | 'tcp6',
): { readonly port: number; readonly inode: string }[] {
  const lines = tryOr(() => readFileSync(`/proc/${pid}/net/${protocol}`, 'utf8'), '').split('\n');
  return lines.slice(1).flatMap((line) => {
    // Columns: number, local address, remote address, state, queues, timer, retransmits, uid, timeout, inode.
    const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
    const port = Number.parseInt(local.slice(local.lastIndexOf(':') + 1), 16);
    return state === LISTENING ? [{ port, inode }] : [];
  });
}
