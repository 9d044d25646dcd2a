import { UNKNOWN } from './marks.ts';
import { normalize, type Protection, protectionOf, resolvePlaces } from './places.ts';
import type { ProgramCall } from './program-call.ts';

/** Tests of `find` that narrow nothing down. */
const NARROWS_NOTHING =
  /^-(depth|d|mindepth|maxdepth|mount|xdev|type|print|print0|follow|ignore_readdir_race|noleaf|warn|nowarn|o|or|a|and|not|true|P|L|H|O\d|regextype|user|readable|writable)$/;
const TAKES_VALUE = /^-(mindepth|maxdepth|type|regextype|user)$/;
const EXECUTES = /^-(exec|execdir|ok|okdir)$/;

interface FindCall {
  readonly starts: readonly string[];
  /** Whether it takes everything below its starting points. */
  readonly takesAll: boolean;
  readonly deletes: boolean;
  /** Program calls of `-exec` and its kin, with `{}` still in them. */
  readonly calls: readonly (readonly string[])[];
  /** Files it writes (`-fprint`). */
  readonly writes: readonly string[];
}

export function readFind(args: readonly string[]): FindCall {
  const starts: string[] = [];
  let i = 0;
  while (i < args.length && /^-([PLH]|O\d|D)$/.test(args[i] as string)) i++;
  for (; i < args.length && !/^[-(!]/.test(args[i] as string); i++) starts.push(args[i] as string);
  let takesAll = true;
  let deletes = false;
  const calls: string[][] = [];
  const writes: string[] = [];
  for (; i < args.length; i++) {
    const word = args[i] as string;
    if (word === '-delete') deletes = true;
    else if (EXECUTES.test(word)) {
      const call: string[] = [];
      for (i++; i < args.length && args[i] !== ';' && !(args[i] === '+' && args[i - 1] === '{}'); i++)
        call.push(args[i] as string);
      calls.push(call);
    } else if (/^-f(print|print0|ls|printf)$/.test(word)) writes.push(args[++i] ?? '');
    else if (/^-(i?name|i?path|i?wholename)$/.test(word)) {
      if (!/^[*/.]*$/.test(args[++i] ?? '')) takesAll = false;
    } else if (NARROWS_NOTHING.test(word)) {
      if (TAKES_VALUE.test(word)) i++;
    } else if (word.startsWith('-')) takesAll = false;
  }
  return { starts: starts.length > 0 ? starts : ['.'], takesAll, deletes, calls, writes };
}

/** What stands for `{}`: the starting point itself when everything is taken, else something below it. */
export function foundNames(find: FindCall): readonly string[] {
  return find.starts.map((start) => (find.takesAll ? start : `${start}/${UNKNOWN}`));
}

/** `find / -delete`: the starting point whose protection counts. (`-exec` is judged as a call of its own.) */
export function findsEverything(
  { run, args, name }: ProgramCall,
  counts: (kind: Protection | undefined) => boolean,
): string | undefined {
  if (name === 'fd') return undefined;
  const find = readFind(args);
  if (!find.takesAll) return undefined;
  const removes =
    find.deletes || find.calls.some(([program = '']) => /(^|\/)(rm|shred|unlink|srm)$/.test(program));
  if (!removes) return undefined;
  return find.starts.find((start) =>
    resolvePlaces(run, start).some((place) => counts(protectionOf(run, normalize(place)))),
  );
}
