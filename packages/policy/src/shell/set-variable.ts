import { readAsName, readAsNumber, readIndex, splitName } from './evaluated-text.ts';
import type { ShellRun } from './shell-run.ts';
import { MAX_VALUES } from './shell-state.ts';
import { noteElement, noteVariable } from './special-variables.ts';

/** Gives a variable a value by its name as a text, as `read`, `printf -v` and `declare` do: `name` or `name[index]`. */
export function assignText(run: ShellRun, target: string, values: readonly string[]): void {
  const { name, index } = splitName(target);
  if (index === undefined) {
    readAsName(run, name);
    setScalar(run, name, values);
  } else {
    readIndex(run, name, index);
    setElement(run, name, [index], values);
  }
}

export function setScalar(run: ShellRun, name: string, values: readonly string[]): void {
  noteValues(run, name, values);
  run.state.set(name, { values });
}

export function setElement(
  run: ShellRun,
  name: string,
  keys: readonly string[],
  values: readonly string[],
): void {
  noteValues(run, name, values);
  for (const key of keys) for (const value of values) noteElement(run, name, key, value);
  const known = run.state.variables.get(name);
  const elements = [...(known?.elements ?? known?.values ?? []), ...values].slice(0, MAX_VALUES * 4);
  run.state.set(name, { values: known?.values ?? values, elements, inexact: true });
}

/** What follows from a value by the name it is given to: bash computes integers and follows references. */
export function noteValues(run: ShellRun, name: string, values: readonly string[]): void {
  noteVariable(run, name, values);
  if (name === 'OLDPWD') run.state.allowPrevious(values);
  if (run.state.isInherited(name)) run.findings.environment(name);
  if (run.state.has(name, 'i')) for (const value of values) readAsNumber(run, value);
  if (!run.state.has(name, 'n')) return;
  for (const value of values) readAsName(run, value);
  const targets = run.state.references.get(name) ?? [];
  run.state.references.set(name, [...new Set([...targets, ...values])].slice(0, MAX_VALUES));
  const key = `reference ${name}`;
  if (run.evaluating.has(key)) return; // references may lead in a circle
  run.evaluating.add(key);
  for (const target of targets) run.perhaps(() => setScalar(run, target, values));
  run.evaluating.delete(key);
}
