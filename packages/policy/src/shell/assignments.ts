import type { Assignment, Word } from 'unbash';
import { readIndex, splitName } from './evaluated-text.ts';
import { noteValues, setElement, setScalar } from './set-variable.ts';
import type { ShellRun } from './shell-run.ts';
import { MAX_VALUES } from './shell-state.ts';
import { noteElement } from './special-variables.ts';
import { combine, evaluatePlainText, evaluateWord } from './word-values.ts';

/** Remembers what `name=value`, `name+=value`, `name[i]=value` or `name=(…)` sets. */
export function assign(run: ShellRun, assignment: Assignment): void {
  const { name, value, index } = assignment;
  const { state } = run;
  if (value.type === 'ArrayValue') {
    let inexact = false;
    const elements = value.elements.flatMap((word) => {
      const item = evaluateItem(run, name, word);
      const readings = item ? [] : evaluateWord(run, word);
      if (item || readings.length > 1) inexact = true;
      return item ?? readings.flat();
    });
    noteValues(run, name, elements);
    const old = assignment.append ? (state.variables.get(name)?.elements ?? []) : [];
    const all = [...old, ...elements].slice(0, MAX_VALUES * 4);
    state.set(name, { values: inexact ? all.slice(0, MAX_VALUES) : [all[0] ?? ''], elements: all, inexact });
    return;
  }
  const keys = index ? evaluateIndex(run, name, index) : [];
  const texts = evaluatePlainText(run, value); // bash looks for no files here
  if (index) setElement(run, name, keys, texts);
  else if (assignment.append) setScalar(run, name, combine(state.variables.get(name)?.values ?? [''], texts));
  else setScalar(run, name, texts);
}

/** Every text an index may be; bash computes it, so that it is code (evaluated-text.ts). */
export function evaluateIndex(run: ShellRun, name: string, index: Word): readonly string[] {
  const texts = evaluatePlainText(run, index);
  // `m[$k]` of an associative array is not expanded again
  if (!run.state.has(name, 'A')) for (const text of texts) readIndex(run, name, text);
  return texts;
}

/** The values of `[key]=value` in a list. */
function evaluateItem(run: ShellRun, name: string, word: Word): readonly string[] | undefined {
  if (!/^\[[\s\S]*\]\+?=/.test(word.text)) return undefined;
  return evaluatePlainText(run, word).map((text) => {
    const { index: key = '', rest } = splitName(name + text);
    if (!run.state.has(name, 'A')) readIndex(run, name, key);
    const value = rest === '' ? key : rest.replace(/^\+?=/, '');
    noteElement(run, name, key, value);
    return value;
  });
}
