import { wordList } from '../text.ts';
import type { Manual, Notes, PathUse } from './notes.ts';
import type { CommandRule } from './rules.ts';

const compiles: CommandRule = {
  id: 'CMD-GCC-1',
  risk: 'HIGH',
  why: 'compiles code: reads whatever the source includes and writes a program',
  matches: ['gcc main.c', 'gcc -o prog main.c', 'gcc -c -O2 -Wall main.c'],
  doesNotMatch: ['cat main.c', 'echo gcc'],
};

const startsProgram: CommandRule = {
  id: 'CMD-GCC-2',
  risk: 'REJECT',
  why: 'starts a program of its choice instead of the compiler',
  matches: [
    'gcc -wrapper id main.c',
    'gcc -wrapper gdb,--args main.c',
    'gcc --wrapper id main.c',
    "gcc '-fmodule-mapper=|id' main.c",
    "gcc '--module-mapper=|id' main.c",
  ],
  doesNotMatch: ['gcc main.c', 'gcc -o wrapper main.c'],
};

const loadsCode: CommandRule = {
  id: 'CMD-GCC-3',
  risk: 'HIGH',
  why: 'makes the compiler load a plug-in, other settings or other tools from a place of its choice',
  needsPerson: true,
  matches: [
    'gcc -fplugin=./x.so main.c',
    'gcc -specs=x main.c',
    'gcc -Bsrc main.c',
    'gcc -B src main.c',
    'gcc @args',
    'gcc --specs=x main.c',
    'gcc --specs x main.c',
    'gcc -specs x main.c',
    'gcc --plugin=docs/x main.c',
    'gcc --plugin=./x.so main.c',
    'gcc -Wl,--plugin=docs/x main.c',
    'gcc -Wl,-plugin,docs/x main.c',
    'gcc --warn-l,--plugin=docs/x main.c',
    'gcc -Xlinker -plugin=docs/x main.c',
    'gcc --for-linker=-plugin=docs/x main.c',
    'gcc -fmodule-mapper=docs/x main.c',
  ],
  doesNotMatch: ['gcc -fPIC main.c', 'gcc -Isrc main.c'],
};

const pathOptionRows = (
  names: string,
  use: PathUse,
  rule?: CommandRule,
): readonly (readonly [string, PathUse, CommandRule | undefined])[] =>
  wordList(names).map((name) => [name, use, rule] as const);

/** Options whose value is a path, glued or as the next word. Longer names first, because gcc matches greedily. */
const pathOptions = [
  ...pathOptionRows(
    `-isystem -isysroot -imultilib -idirafter -iquote -iprefix -iwithprefixbefore -iwithprefix -include -imacros --sysroot
    --include-directory-after --include-directory --include-prefix --include --imacros --library-directory -I -L -F -T`,
    'read',
  ),
  ...pathOptionRows('-dumpdir -dumpbase-ext -dumpbase -aux-info --output -MF -o', 'write'),
  ...pathOptionRows('-iplugindir= -specs --specs -fplugin= -fmodule-mapper= --prefix -B', 'run', loadsCode),
].sort(([a], [b]) => b.length - a.length);

const textOptions = new Set(
  '-x -D -U -A -l -MT -MQ -u -z -e -G --param --language --define-macro --undefine-macro --assert'.split(' '),
);
/** Options that pass the next word on to another tool. */
const passedOn = new Set(
  '-Xlinker -Xassembler -Xpreprocessor -Xclang --for-linker --for-assembler'.split(' '),
);
/** Linker options whose path is only stored in the result and used when the result runs, so it may be outside. */
const runtimePaths = /^--?(rpath|rpath-link|dynamic-linker|soname|h|install_name)(=|$)/;
/** `-fx=y` whose value is text that may look like a path. */
const textValue = /^-f(file|debug|macro|profile|canon|coverage)-prefix-map=|^-W|^-std=|^-m|^-D/;

/** gcc's long options have one dash and no common grammar: each takes its value glued on, as the next word or after `=`. */
export const gcc: Manual = {
  names: ['gcc'],
  rules: [compiles, startsProgram, loadsCode],
  read(args, notes) {
    notes.raise(compiles);
    let namesOutput = false;
    const forLinker: string[] = [];
    for (let at = 0; at < args.length; at++) {
      const arg = singleDashed(args[at] as string);
      if (
        /^(-o|--output)|^(-c|-S|-E|-M|-MM|-fsyntax-only|--version|--help|-dumpversion|-dumpmachine)$/.test(
          arg,
        )
      )
        namesOutput = true;
      at += noteWord(arg, args[at + 1], forLinker, notes);
    }
    notePassedOn(forLinker, notes);
    if (!namesOutput && args.length > 0) notes.path('a.out', 'write');
  },
};

/** Long options that have a meaning of their own. */
const ownLongOptions =
  /^--(wrapper|specs|sysroot|output|include|imacros|library-directory|prefix|for-|param|language|define-macro|undefine-macro|assert|version|help|target-help)/;

/** gcc reads any other `--x` as `-fx`, `--warn-x` as `-Wx` and `--machine-x` as `-mx`: `--plugin=x` is `-fplugin=x`. */
function singleDashed(arg: string): string {
  if (!arg.startsWith('--') || arg === '--' || ownLongOptions.test(arg)) return arg;
  if (arg.startsWith('--std')) return arg.slice(1);
  if (arg.startsWith('--warn-')) return `-W${arg.slice('--warn-'.length)}`;
  if (/^--machine[-=]/.test(arg)) return `-m${arg.slice('--machine-'.length)}`;
  return `-f${arg.slice(2)}`;
}

/** Returns how many further words it took. `forLinker` collects the linker's words of the whole line. */
function noteWord(arg: string, next: string | undefined, forLinker: string[], notes: Notes): number {
  if (arg.startsWith('@')) {
    notes.raise(loadsCode, arg);
    notes.path(arg.slice(1), 'read');
    return 0;
  }
  if (!arg.startsWith('-') || arg === '-') {
    notes.pathOrStream(arg, 'read');
    return 0;
  }
  if (/^--?wrapper/.test(arg)) {
    notes.raise(startsProgram, arg);
    return 1;
  }
  if (arg.startsWith('-Wl,')) {
    forLinker.push(...arg.split(',').slice(1));
    return 0;
  }
  if (/^-W[ap],/.test(arg)) {
    notePassedOn(arg.split(',').slice(1), notes);
    return 0;
  }
  const joined = /^(--for-(?:linker|assembler))=(.*)$/s.exec(arg);
  if (joined || passedOn.has(arg)) {
    const word = joined?.[2] ?? next ?? '';
    if ((joined?.[1] ?? arg).endsWith('linker')) forLinker.push(word);
    else notePassedOn([word], notes);
    return joined ? 0 : 1;
  }
  if (arg.startsWith('-l')) {
    const library = arg === '-l' ? (next ?? '') : arg.slice(2);
    if (library.startsWith(':')) notes.mayBePath(library.slice(1), 'outside');
    return arg === '-l' ? 1 : 0;
  }
  if (textOptions.has(arg)) return 1;
  if (/^-fmodule-mapper=\|/.test(arg)) {
    notes.raise(startsProgram, arg);
    return 0;
  }
  if (/^-(D|U|A|x|MT|MQ)./.test(arg)) return 0;
  if (/^-T(bss|data|text)(=|$)/.test(arg)) return arg.includes('=') ? 0 : 1;
  return notePathOption(arg, next, notes);
}

function notePathOption(arg: string, next: string | undefined, notes: Notes): number {
  for (const [name, use, rule] of pathOptions) {
    if (!arg.startsWith(name)) continue;
    const glued = arg.slice(name.length).replace(/^=/, '');
    if (rule) notes.raise(rule, arg);
    if (glued === '' && name.endsWith('=')) return 0;
    if (glued !== '') notes.path(glued, use);
    else if (next !== undefined) notes.path(next, use);
    return glued === '' ? 1 : 0;
  }
  const equals = arg.indexOf('=');
  if (equals > 0 && !textValue.test(arg)) {
    const value = arg.slice(equals + 1);
    // -fdump-tree-all=x, -fprofile-use=x, -save-temps=obj: a path or a word; as a path it must be inside.
    if (value !== '')
      for (const part of value.split(/[,:=]/))
        if (part.includes('/') || part.startsWith('.')) notes.path(part, 'write');
  }
  return 0;
}

function notePassedOn(words: readonly string[], notes: Notes): void {
  let isRuntimePath = false;
  for (const [i, word] of words.entries()) {
    // The tool's own -o: what it writes must not be an executable binary by its name (TL-4).
    const output = /^(?:-o|--output)$/.test(words[i - 1] ?? '')
      ? word
      : /^(?:-o|--output=)(.+)$/.exec(word)?.[1];
    notes.makesName(output ?? '');
    const skip = isRuntimePath || runtimePaths.test(word);
    isRuntimePath = runtimePaths.test(word) && !word.includes('=');
    if (skip) continue;
    if (word.startsWith('@')) notes.raise(loadsCode, word);
    const value = word.slice(word.indexOf('=') + 1).replace(/^@/, '');
    if (/^--?plugin(=|$)/.test(word)) notes.raise(loadsCode, word);
    for (const text of [value, value.replace(/^-[A-Za-z]/, '')]) {
      notes.mayBePath(text, 'outside');
      if (!text.startsWith('-')) notes.mayBePath(text, 'sensitive');
    }
  }
}
