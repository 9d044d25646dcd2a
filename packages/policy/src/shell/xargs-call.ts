import { hasHole, madeFrom, UNKNOWN } from '../program/marks.ts';
import { readOptions } from '../program/options.ts';
import { checkFile } from './operands.ts';
import { contentOf } from './redirections.ts';
import type { ProgramCall } from './shell-run.ts';

/** `xargs program words…`: judges the program with what comes in. */
export function judgeXargs({ run, args }: ProgramCall): readonly string[] {
  const { operands, values, every, flags } = readOptions(
    args,
    '-I -L -n -P -s -d -a -E --max-args --max-procs --delimiter --arg-file --max-chars --process-slot-var',
    { optionalValues: '-i -l -e', permutes: false },
  );
  const files = every('a', 'arg-file');
  for (const file of files) checkFile(run, file, 'read');
  const program = operands.length > 0 ? operands : ['echo'];
  const hole =
    values.get('I') ||
    values.get('i') ||
    values.get('replace') ||
    (flags.has('i') || flags.has('replace') ? '{}' : undefined);
  const delimiter =
    flags.has('0') || flags.has('null')
      ? '\u0000'
      : (values.get('d') ?? values.get('delimiter'))?.replace('\\n', '\n').replace(/^\\0$/, '\u0000');
  const printed: string[] = [];
  for (const text of files.length > 0
    ? files.map((file) => contentOf(run, file))
    : (run.stdin ?? [UNKNOWN])) {
    const items = itemsOf(text, delimiter, hole !== undefined);
    const calls =
      hole === undefined
        ? [[...program, ...items]]
        : items.slice(0, 50).map((item) => program.map((word) => word.replaceAll(hole, item)));
    for (const words of calls) printed.push(...run.perhaps(() => run.walker.call(run, words)));
  }
  return printed.length > 0 ? printed.slice(0, 16) : [''];
}

function itemsOf(text: string, delimiter: string | undefined, byLine: boolean): string[] {
  const pieces =
    delimiter !== undefined && delimiter !== ''
      ? text.split(delimiter).map((item) => item.replace(/\n$/, ''))
      : text.replaceAll('\u0000', '\n').split(byLine ? '\n' : /\s+/);
  return pieces
    .filter((item) => item !== '')
    .slice(0, 200)
    .map((item) =>
      hasHole(item) && !item.includes('/')
        ? madeFrom(item)
        : delimiter === undefined
          ? withoutQuotes(item)
          : item,
    );
}

/** Unless it was told where items end, xargs takes quotes and backslashes for its own. */
const withoutQuotes = (item: string): string => item.replace(/^(['"])(.*)\1$/, '$2').replace(/\\(.)/g, '$1');
