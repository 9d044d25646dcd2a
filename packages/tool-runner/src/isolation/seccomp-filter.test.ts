import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { absentCalls, modeCalls, refusedCalls, seccompFilter } from './seccomp-filter.ts';

const ALLOW = 'allowed';
const machines = {
  x64: { audit: 0xc000003e, clone: 56, ioctl: 16, socket: 41, read: 0, column: 1 },
  arm64: { audit: 0xc00000b7, clone: 220, ioctl: 29, socket: 198, read: 63, column: 2 },
} as const;

/** Runs the filter as the kernel does, for either architecture, whichever this machine has. */
function run(
  arch: 'x64' | 'arm64',
  call: number,
  args: readonly number[] = [],
  { audit = machines[arch].audit as number, unixSockets = true } = {},
) {
  const program = Buffer.from(seccompFilter({ unixSockets }, arch) as Uint8Array);
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call, 0);
  data.writeUInt32LE(audit, 4);
  for (const [place, value] of args.entries()) data.writeBigUInt64LE(BigInt(value), 16 + 8 * place);
  let value = 0;
  for (let at = 0; at < program.length / 8; at += 1) {
    const code = program.readUInt16LE(at * 8);
    const operand = program.readUInt32LE(at * 8 + 4);
    const jump = (isTrue: boolean) => program.readUInt8(at * 8 + (isTrue ? 2 : 3));
    if (code === 0x20) value = data.readUInt32LE(operand);
    else if (code === 0x06) return operand === 0x7fff0000 ? ALLOW : `errno ${operand & 0xffff}`;
    else if (code === 0x15) at += jump(value === operand);
    else if (code === 0x35) at += jump(value >= operand);
    else if (code === 0x45) at += jump((value & operand) !== 0);
    else throw new Error(`unknown instruction ${code}`);
  }
  throw new Error('the program has no end');
}

describe('seccompFilter', () => {
  it.each(['x64', 'arm64'] as const)(
    '[RN-5] refuses what no command needs, and allows the rest, on %s',
    (arch) => {
      const { column, clone, ioctl, socket, read } = machines[arch];
      for (const call of refusedCalls) {
        const number = call[column];
        if (number !== null) expect([call[0], run(arch, number)]).toEqual([call[0], 'errno 1']);
      }
      for (const call of absentCalls) expect(run(arch, call[column] as number)).toBe('errno 38');
      expect(run(arch, read, [1, 2, 3])).toBe(ALLOW);
      expect(run(arch, clone, [0x11])).toBe(ALLOW);
      expect(run(arch, clone, [0x10000000 | 0x11])).toBe('errno 1');
      expect(run(arch, ioctl, [0, 0x5401])).toBe(ALLOW);
      expect(run(arch, ioctl, [0, 0x5412])).toBe('errno 1');
      expect(run(arch, ioctl, [0, 0x5412 + 2 ** 32])).toBe('errno 1'); // the kernel looks at 32 bits only
      expect(run(arch, ioctl, [0, 0x541c])).toBe('errno 1');
      expect([1, 2, 10, 16].map((family) => run(arch, socket, [family]))).toEqual([
        ALLOW,
        ALLOW,
        ALLOW,
        ALLOW,
      ]);
      const lookOnly = { unixSockets: false };
      expect([1, 2, 10, 16].map((family) => run(arch, socket, [family], lookOnly))).toEqual([
        'errno 97',
        ALLOW,
        ALLOW,
        ALLOW,
      ]);
      expect([0, 17, 38, 40].map((family) => run(arch, socket, [family]))).toEqual(Array(4).fill('errno 97'));
    },
  );

  it('[RN-5] refuses every call in another convention', () => {
    expect(run('x64', 0, [], { audit: 0x40000003 })).toBe('errno 1'); // 32 bit
    expect(run('x64', 0x40000000)).toBe('errno 1'); // x32
    expect(run('arm64', 63, [], { audit: 0x40000028 })).toBe('errno 1');
  });

  it.each(['x64', 'arm64'] as const)('[RN-5] refuses the set-user-id and set-group-id bits on %s', (arch) => {
    const { column } = machines[arch];
    const creating = 0o100;
    for (const { call, mode, flags } of modeCalls) {
      const number = call[column];
      if (number === null) continue;
      const withMode = (value: number, flag = creating) => {
        const args = [0, 0, 0, 0];
        args[mode] = value;
        if (flags !== undefined) args[flags] = flag;
        return run(arch, number, args);
      };
      expect([call[0], withMode(0o4755), withMode(0o2755), withMode(0o6000)]).toEqual([
        call[0],
        ...Array(3).fill('errno 1'),
      ]);
      expect([call[0], withMode(0o1777), withMode(0o644), withMode(0)]).toEqual([
        call[0],
        ...Array(3).fill(ALLOW),
      ]);
      // Without O_CREAT or O_TMPFILE the argument is not a mode, so any value is allowed.
      if (flags !== undefined)
        expect([withMode(0o4755, 0o2), withMode(0o4755, 0o20200000)]).toEqual([ALLOW, 'errno 1']);
    }
  });

  it('is not made for a machine whose numbers we do not have', () => {
    expect(seccompFilter({ unixSockets: true }, 'riscv64')).toBeUndefined();
  });

  it("has the numbers of the kernel's own headers", ({ skip }) => {
    const headers = ['/usr/include/x86_64-linux-gnu/asm/unistd_64.h', '/usr/include/asm-generic/unistd.h'];
    if (!headers.every((path) => existsSync(path))) return skip('the headers are not installed here');
    const [x64 = '', arm64 = ''] = headers.map((path) => readFileSync(path, 'utf8'));
    const numberIn = (text: string, name: string) => {
      const found = new RegExp(`#define __NR(?:3264)?_${name}\\s+(\\d+)`).exec(text)?.[1];
      return found === undefined ? null : Number(found);
    };
    const all = [...refusedCalls, ...absentCalls, ...modeCalls.map(({ call }) => call)];
    // A call that is newer than these headers has the same number on every architecture.
    const known = all.filter(([name]) => numberIn(x64, name) !== null || numberIn(arm64, name) !== null);
    expect(all.length - known.length).toBeLessThan(3);
    for (const [name, ...numbers] of known)
      expect([name, ...numbers]).toEqual([name, numberIn(x64, name), numberIn(arm64, name)]);
  });
});
