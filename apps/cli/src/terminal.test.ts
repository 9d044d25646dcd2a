import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { processTerminal, styles, type TerminalStreams } from './terminal.ts';

/** Streams as a process has them, at a terminal or not. */
function streams({ isTTY, env = {} }: { isTTY: boolean; env?: Record<string, string> }) {
  const raw: boolean[] = [];
  const stdin = Object.assign(new PassThrough(), { isTTY, setRawMode: (on: boolean) => raw.push(on) });
  const stdout = Object.assign(new PassThrough(), { isTTY });
  const stderr = new PassThrough();
  return { stdin, stdout, stderr, raw, given: { stdin, stdout, stderr, env } as unknown as TerminalStreams };
}

describe('the terminal of a process', () => {
  it('takes the keyboard while somebody listens, and gives it back', () => {
    const { stdin, stdout, raw, given } = streams({ isTTY: true });
    const { screen, interactive, color } = processTerminal(given);
    expect([interactive, color, screen?.columns, screen?.rows]).toEqual([true, true, 80, 24]);
    const keys: string[] = [];
    const stop = screen?.onKeys(({ name }) => keys.push(name));
    stdin.write('y');
    stdin.write('\u001b[A');
    stdin.read();
    stop?.();
    expect(keys).toEqual(['y', 'up']);
    expect(raw).toEqual([true, false]);
    expect(String(stdout.read())).toBe('\u001b[?2004h\u001b[?2004l');
  });

  it('tells when its size changes', () => {
    const { stdout, given } = streams({ isTTY: true });
    const { screen } = processTerminal(given);
    let changes = 0;
    const stop = screen?.onResize(() => {
      changes += 1;
    });
    stdout.emit('resize');
    stop?.();
    stdout.emit('resize');
    expect(changes).toBe(1);
    screen?.write('x');
    expect(String(stdout.read())).toBe('x');
  });

  it('has no screen and no colours on a terminal that cannot move its cursor', () => {
    const { given } = streams({ isTTY: true, env: { TERM: 'dumb' } });
    const { screen, interactive, color } = processTerminal(given);
    expect([interactive, color, screen]).toEqual([true, false, undefined]);
  });

  it('has no screen without a terminal, but still prints', async () => {
    const { stdin, stdout, stderr, given } = streams({ isTTY: false });
    const terminal = processTerminal(given);
    expect([terminal.interactive, terminal.color, terminal.screen]).toEqual([false, false, undefined]);
    await terminal.write('out');
    terminal.writeError('error');
    expect([String(stdout.read()), String(stderr.read())]).toEqual(['out', 'error']);
    stdin.end('one\ntwo\n');
    const lines: string[] = [];
    for await (const line of terminal.typed('> ')) lines.push(line);
    expect(lines).toEqual(['one', 'two']);
    stdout.destroy(new Error('nobody reads'));
    await expect(terminal.write('x')).rejects.toThrow();
  });

  it('follows NO_COLOR and FORCE_COLOR', () => {
    const colorWith = (isTTY: boolean, env: Record<string, string>) =>
      processTerminal(streams({ isTTY, env }).given).color;
    expect(colorWith(true, { NO_COLOR: '' })).toBe(false);
    expect(colorWith(false, { FORCE_COLOR: '1' })).toBe(true);
  });

  it('[UI-6] makes text harmless before it is coloured', () => {
    expect(styles(true).red('\u001b[2J')).toBe('\u001b[31m⟨U+001B⟩[2J\u001b[0m');
    expect(styles(false).red('x')).toBe('x');
  });
});
