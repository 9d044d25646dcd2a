import { readdirSync, readFileSync } from 'node:fs';

const CLOSE_ON_EXEC = 0o2000000;

/**
 * Descriptors that whoever started us left open and that a program we start would inherit. Node opens its own so that
 * they close; those come from outside, at the start, so that looking once is enough.
 */
export function inheritedDescriptors(): readonly number[] {
  return readdirSync('/proc/self/fd')
    .map(Number)
    .filter((descriptor) => descriptor > 2 && !closesOnExec(descriptor));
}

function closesOnExec(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'))?.[1];
    return (Number.parseInt(flags ?? '0', 8) & CLOSE_ON_EXEC) !== 0;
  } catch {
    return true; // it was the descriptor of our own listing
  }
}

/** The command line that closes them first. Bash is started only where there is something to close. */
export function closingArguments(descriptors: readonly number[], line: readonly string[]): readonly string[] {
  if (descriptors.length === 0) return line;
  const closing = descriptors.map((descriptor) => `${descriptor}>&-`).join(' ');
  return ['/bin/bash', '--norc', '--noprofile', '-c', `exec ${closing}; exec "$@"`, 'bash', ...line];
}
