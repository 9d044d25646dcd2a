import { endianness } from 'node:os';

/** A system call and its numbers on x86_64 and arm64; null if that architecture does not have the call. */
type SystemCall = readonly [name: string, x64: number | null, arm64: number | null];

/**
 * Calls that commands do not need and that have let programs escape from namespaces before: kernel keys, BPF,
 * performance events, userfaultfd, other processes' memory, mounts, new namespaces, clocks, modules. They fail with
 * EPERM.
 */
export const refusedCalls: readonly SystemCall[] = [
  ['ptrace', 101, 117],
  ['process_vm_readv', 310, 270],
  ['process_vm_writev', 311, 271],
  ['kcmp', 312, 272],
  ['pidfd_getfd', 438, 438],
  ['add_key', 248, 217],
  ['request_key', 249, 218],
  ['keyctl', 250, 219],
  ['bpf', 321, 280],
  ['perf_event_open', 298, 241],
  ['userfaultfd', 323, 282],
  ['mount', 165, 40],
  ['umount2', 166, 39],
  ['pivot_root', 155, 41],
  ['open_tree', 428, 428],
  ['move_mount', 429, 429],
  ['fsopen', 430, 430],
  ['fsconfig', 431, 431],
  ['fsmount', 432, 432],
  ['fspick', 433, 433],
  ['mount_setattr', 442, 442],
  ['unshare', 272, 97],
  ['setns', 308, 268],
  ['open_by_handle_at', 304, 265],
  ['name_to_handle_at', 303, 264],
  ['quotactl', 179, 60],
  ['acct', 163, 89],
  ['swapon', 167, 224],
  ['swapoff', 168, 225],
  ['reboot', 169, 142],
  ['sethostname', 170, 161],
  ['setdomainname', 171, 162],
  ['iopl', 172, null],
  ['ioperm', 173, null],
  ['init_module', 175, 105],
  ['finit_module', 313, 273],
  ['delete_module', 176, 106],
  ['kexec_load', 246, 104],
  ['kexec_file_load', 320, 294],
  ['syslog', 103, 116],
  ['vhangup', 153, 58],
  ['settimeofday', 164, 170],
  ['clock_settime', 227, 112],
  ['clock_adjtime', 305, 266],
  ['adjtimex', 159, 171],
];

/** These calls fail with ENOSYS, so that libraries fall back to older calls, which this filter can inspect. */
export const absentCalls: readonly SystemCall[] = [
  ['clone3', 435, 435],
  ['io_uring_setup', 425, 425],
  ['io_uring_enter', 426, 426],
  ['io_uring_register', 427, 427],
  ['openat2', 437, 437],
];

/**
 * Calls that set a file's mode. They are refused if they would set the set-user-id or set-group-id bit. `mode` is the
 * index of the mode argument. Calls with `flags`, the index of the open flags, use the mode only to create a file.
 */
export const modeCalls: readonly {
  readonly call: SystemCall;
  readonly mode: number;
  readonly flags?: number;
}[] = [
  { call: ['chmod', 90, null], mode: 1 },
  { call: ['fchmod', 91, 52], mode: 1 },
  { call: ['fchmodat', 268, 53], mode: 2 },
  { call: ['fchmodat2', 452, 452], mode: 2 },
  { call: ['mknod', 133, null], mode: 1 },
  { call: ['mknodat', 259, 33], mode: 2 },
  { call: ['creat', 85, null], mode: 1 },
  { call: ['open', 2, null], mode: 2, flags: 1 },
  { call: ['openat', 257, 56], mode: 3, flags: 2 },
];

const machines = {
  x64: { auditArch: 0xc000003e, clone: 56, ioctl: 16, socket: 41, column: 1 },
  arm64: { auditArch: 0xc00000b7, clone: 220, ioctl: 29, socket: 198, column: 2 },
} as const;

const CLONE_NEWUSER = 0x10000000;
/** The ioctl requests that type into the person's terminal or select text in it. */
const terminalRequests = [0x5412 /* TIOCSTI */, 0x541c /* TIOCLINUX */];
/** IPv4, IPv6 and netlink. Not vsock, which ignores network namespaces; not raw packets or the kernel's crypto API. */
const socketFamilies = [2, 10, 16];
const AF_UNIX = 1;
const SETUID_OR_SETGID = 0o6000;
const CREATES = 0o100 /* O_CREAT */ | 0o20000000; /* __O_TMPFILE */

const ALLOW = 0x7fff0000;
const refuseWith = (errno: number): number => 0x00050000 | errno;
const EPERM = refuseWith(1);
const ENOSYS = refuseWith(38);
const EAFNOSUPPORT = refuseWith(97);

const LOAD = 0x20; // BPF_LD | BPF_W | BPF_ABS
const EQUAL = 0x15;
const AT_LEAST = 0x35;
const ANY_BIT = 0x45;
const RETURN = 0x06;
// Offsets in the kernel's `struct seccomp_data`.
const CALL_NUMBER = 0;
const AUDIT_ARCH = 4;
/** The low half of an argument. Both architectures are little-endian. */
const argument = (index: number): number => 16 + 8 * index;

export interface SeccompOptions {
  /** Whether the program may open Unix sockets, which can lead to other processes. Socket pairs are always allowed. */
  readonly unixSockets: boolean;
}

/** Returns the BPF program for `bwrap --seccomp`; undefined on an architecture whose call numbers we do not have. */
export function seccompFilter(
  { unixSockets }: SeccompOptions,
  arch: string = process.arch,
): Uint8Array | undefined {
  if (!(arch === 'x64' || arch === 'arm64') || endianness() !== 'LE') return undefined;
  const { auditArch, clone, ioctl, socket, column } = machines[arch];
  const families = unixSockets ? [AF_UNIX, ...socketFamilies] : socketFamilies;
  const program: [code: number, ifTrue: number, ifFalse: number, value: number][] = [
    // Other calling conventions (32 bit, x32) have other call numbers: refuse all of their calls.
    [LOAD, 0, 0, AUDIT_ARCH],
    [EQUAL, 1, 0, auditArch],
    [RETURN, 0, 0, EPERM],
    [LOAD, 0, 0, CALL_NUMBER],
  ];
  if (arch === 'x64') program.push([AT_LEAST, 0, 1, 0x40000000], [RETURN, 0, 0, EPERM]);
  const refuse = (calls: readonly SystemCall[], action: number): void => {
    for (const call of calls) {
      const number = call[column];
      if (number !== null) program.push([EQUAL, 0, 1, number], [RETURN, 0, 0, action]);
    }
  };
  refuse(refusedCalls, EPERM);
  refuse(absentCalls, ENOSYS);
  for (const { call, mode, flags } of modeCalls) {
    const number = call[column];
    if (number === null) continue;
    const onlyCreating: typeof program =
      flags === undefined
        ? []
        : [
            [LOAD, 0, 0, argument(flags)],
            [ANY_BIT, 1, 0, CREATES],
            [RETURN, 0, 0, ALLOW],
          ];
    program.push(
      [EQUAL, 0, 4 + onlyCreating.length, number],
      ...onlyCreating,
      [LOAD, 0, 0, argument(mode)],
      [ANY_BIT, 0, 1, SETUID_OR_SETGID],
      [RETURN, 0, 0, EPERM],
      [RETURN, 0, 0, ALLOW],
    );
  }
  program.push(
    [EQUAL, 0, 4, clone],
    [LOAD, 0, 0, argument(0)],
    [ANY_BIT, 0, 1, CLONE_NEWUSER],
    [RETURN, 0, 0, EPERM],
    [RETURN, 0, 0, ALLOW],
    [EQUAL, 0, 2 + 2 * terminalRequests.length, ioctl],
    [LOAD, 0, 0, argument(1)],
    ...terminalRequests.flatMap((request): typeof program => [
      [EQUAL, 0, 1, request],
      [RETURN, 0, 0, EPERM],
    ]),
    [RETURN, 0, 0, ALLOW],
    [EQUAL, 0, 2 + 2 * families.length, socket],
    [LOAD, 0, 0, argument(0)],
    ...families.flatMap((family): typeof program => [
      [EQUAL, 0, 1, family],
      [RETURN, 0, 0, ALLOW],
    ]),
    [RETURN, 0, 0, EAFNOSUPPORT],
    [RETURN, 0, 0, ALLOW],
  );
  const bytes = Buffer.alloc(program.length * 8);
  for (const [place, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, place * 8);
    bytes.writeUInt8(ifTrue, place * 8 + 2);
    bytes.writeUInt8(ifFalse, place * 8 + 3);
    bytes.writeUInt32LE(value >>> 0, place * 8 + 4);
  }
  return bytes;
}
