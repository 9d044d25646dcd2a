import type { RecursiveCall } from './shell-run.ts';

/**
 * The name of a function (or `$0`, the script) that starts itself at least twice, at least once without waiting.
 * Calls through other functions count. Ordinary recursion, which waits for each call, does not.
 */
export function findForkBomb(calls: readonly RecursiveCall[]): string | undefined {
  const names = new Set(calls.map(({ from }) => from));
  const own = calls.filter(({ to }) => names.has(to));
  for (const name of names) {
    const back = own.filter(({ from, to }) => from === name && reaches(own, to, name));
    const weight = back.reduce((sum, call) => sum + (call.endless ? 2 : 1), 0);
    if (weight >= 2 && back.some((call) => call.concurrent)) return name;
  }
  return undefined;
}

function reaches(calls: readonly RecursiveCall[], start: string, goal: string): boolean {
  const seen = new Set<string>();
  const todo = [start];
  while (todo.length > 0) {
    const name = todo.pop() as string;
    if (name === goal) return true;
    if (seen.has(name)) continue;
    seen.add(name);
    for (const call of calls) if (call.from === name) todo.push(call.to);
  }
  return false;
}
