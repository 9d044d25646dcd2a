import { type Command, type CompoundList, forEachChild, type SyntaxNode } from 'unbash';
import type { RecursiveCall, ShellRun } from './shell-run.ts';
import type { Reading } from './word-values.ts';

/** The most calls between functions; a line with more is refused. */
const MAX_CALLS = 200;

/**
 * Returns the name of a function (or `$0`, the script) that starts itself at least twice, at least once without waiting.
 * Calls through other functions count. Ordinary recursion does not count, because it waits for each call.
 */
export function findForkBomb(run: ShellRun): string | undefined {
  const calls = run.recursion;
  const names = new Set(calls.map(({ from }) => from));
  const own = calls.filter(({ to }) => names.has(to));
  if (own.length > MAX_CALLS) {
    run.tooComplex('its functions call each other too often');
    return undefined;
  }
  for (const name of names) {
    const back = own.filter(({ from, to }) => from === name && reaches(own, to, name));
    const weight = back.reduce((sum, call) => sum + (call.repeated ? 2 : 1), 0);
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

/** Expressions for the name of the running script. */
const SELF = /^"?\$(0|\{0\}|BASH_SOURCE|\{BASH_SOURCE(\[0\])?\})"?$/;

/** Records the calls inside functions and scripts for `findForkBomb`, once for each place in the text. */
export function noteRecursion(run: ShellRun, node: Command, readings: readonly Reading[]): void {
  if (run.recordedCalls.has(node)) return;
  const isSelf =
    SELF.test(node.name?.text ?? '') || (isShellName(node) && node.args.some(({ text }) => SELF.test(text)));
  const from = isSelf ? '$0' : run.calling.at(-1);
  if (from === undefined) return;
  run.recordedCalls.add(node);
  const names = isSelf ? ['$0'] : new Set(readings.map(calledName));
  for (const to of names) {
    run.recursion.push({ from, to, concurrent: run.concurrent > 0, repeated: run.repeatingLoops > 0 });
  }
}

/** The name of a script in `run.calling`; the same for `x` and `./x`. */
export const scriptKey = (path: string): string => `file ${path.replace(/^(\.\/)+/, '')}`;

function calledName([name = '', ...args]: Reading): string {
  if (name.includes('/') && !/^\/(usr\/)?bin\//.test(name)) return scriptKey(name);
  const script = /^(\S*\/)?((ba|da|z|k)?sh|source|\.)$/.test(name)
    ? args.find((word) => !word.startsWith('-'))
    : undefined;
  return script === undefined ? name : scriptKey(script);
}

const isShellName = (node: Command): boolean => /^(\/bin\/)?(ba|da|z|k)?sh$/.test(node.name?.value ?? '');

/** Whether a `while` or `until` loop with this condition never ends. */
export function isEndless(kind: 'while' | 'until', clause: CompoundList): boolean {
  const command = clause.commands.at(-1)?.command;
  if (command?.type === 'ArithmeticCommand') return kind === 'while' && command.body.trim() === '1';
  if (command?.type !== 'Command') return false;
  return kind === 'while'
    ? ['true', ':', '/bin/true'].includes(command.name?.value ?? '')
    : command.name?.value === 'false';
}

/** Whether a loop body starts something in the background and never waits. */
export function startsWithoutWaiting(body: CompoundList): boolean {
  let starts = false;
  let pauses = false;
  let budget = 500;
  const look = (node: SyntaxNode): void => {
    if (--budget < 0) return;
    // a `sleep` in the background does not slow the loop
    if (node.type === 'Statement' && node.background) {
      starts = true;
      return;
    }
    const isPause =
      node.type === 'Command' &&
      /^(sleep|wait|read|break|exit|return|inotifywait)$/.test(node.name?.value ?? '');
    if (isPause) pauses = true;
    forEachChild(node, look);
  };
  look(body);
  return starts && !pauses;
}
