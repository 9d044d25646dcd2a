import type { Assignment } from 'unbash';
import type { ShellRun } from './shell-run.ts';
import { MAX_VALUES } from './shell-state.ts';
import { noteVariable } from './special-variables.ts';
import { combine, evaluateText, evaluateWord } from './word-values.ts';

/** Remembers what `name=value`, `name+=value`, `name[i]=value` or `name=(…)` sets. */
export function assign(run: ShellRun, assignment: Assignment): void {
  const { name, value, index } = assignment;
  if (index) for (const text of evaluateText(run, index)) run.walker.expansion(run, text);
  const { state } = run;
  if (value.type === 'ArrayValue') {
    let inexact = false;
    const elements = value.elements.flatMap((word) => {
      const item = /^\[[^\]]*\]=/.exec(word.text);
      const readings = evaluateWord(run, word);
      if (readings.length > 1 || item) inexact = true;
      const fields = readings.flat();
      return item ? fields.map((field) => field.slice(field.indexOf('=') + 1)) : fields;
    });
    const old = assignment.append ? (state.variables.get(name)?.elements ?? []) : [];
    const all = [...old, ...elements].slice(0, MAX_VALUES * 4);
    state.set(name, { values: inexact ? all.slice(0, MAX_VALUES) : [all[0] ?? ''], elements: all, inexact });
    return;
  }
  const texts = evaluateText(run, value);
  noteVariable(run, name, texts);
  const known = state.variables.get(name);
  if (index) {
    const elements = [...(known?.elements ?? known?.values ?? []), ...texts].slice(0, MAX_VALUES * 4);
    state.set(name, { values: known?.values ?? texts, elements, inexact: true });
    return;
  }
  state.set(name, { values: assignment.append ? combine(known?.values ?? [''], texts) : texts });
}
