import type { CommandRule } from '../command/command-rule.ts';
import type { Judgement, PathUse } from '../command/judgement.ts';
import { wordList } from '../word-list.ts';
import { type Program, refuseOutside } from './program.ts';

const compiles: CommandRule = {
  id: 'CMD-GCC-1',
  risk: 'HIGH',
  why: 'compiles code: reads whatever the source includes and writes a program',
  matches: ['gcc main.c', 'gcc -o prog main.c', 'gcc --version', 'gcc -c -O2 -Wall main.c'],
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
/** What follows is for another tool; a path in it is still a path. */
const passedOn = new Set(
  '-Xlinker -Xassembler -Xpreprocessor -Xclang --for-linker --for-assembler'.split(' '),
);
/** Linker words after which a path outside is only written into the result and read when that runs. */
const runtimePaths = /^--?(rpath|rpath-link|dynamic-linker|soname|h|install_name)(=|$)/;
/** `-fx=y` whose value is text that may look like a path. */
const textValue = /^-f(file|debug|macro|profile|canon|coverage)-prefix-map=|^-W|^-std=|^-m|^-D/;

/** gcc's long options have one dash and no general grammar: glued, separate or after `=`, each as its own rule. */
export const gcc: Program = {
  names: ['gcc'],
  rules: [compiles, startsProgram, loadsCode],
  judge(args, judgement) {
    judgement.raise(compiles);
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
      at += judgeWord(arg, args[at + 1], forLinker, judgement);
    }
    judgePassedOn(forLinker, judgement);
    if (!namesOutput && args.length > 0) judgement.path('a.out', 'write');
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

/** Returns how many further words it took. What the linker gets is one list, wherever on the line it stands. */
function judgeWord(arg: string, next: string | undefined, forLinker: string[], judgement: Judgement): number {
  if (arg.startsWith('@')) {
    judgement.raise(loadsCode, arg);
    judgement.path(arg.slice(1), 'read');
    return 0;
  }
  if (!arg.startsWith('-') || arg === '-') {
    judgement.pathOrStream(arg, 'read');
    return 0;
  }
  if (/^--?wrapper/.test(arg)) {
    judgement.raise(startsProgram, arg);
    return 1;
  }
  if (arg.startsWith('-Wl,')) {
    forLinker.push(...arg.split(',').slice(1));
    return 0;
  }
  if (/^-W[ap],/.test(arg)) {
    judgePassedOn(arg.split(',').slice(1), judgement);
    return 0;
  }
  const joined = /^(--for-(?:linker|assembler))=(.*)$/s.exec(arg);
  if (joined || passedOn.has(arg)) {
    const word = joined?.[2] ?? next ?? '';
    if ((joined?.[1] ?? arg).endsWith('linker')) forLinker.push(word);
    else judgePassedOn([word], judgement);
    return joined ? 0 : 1;
  }
  if (arg.startsWith('-l')) {
    const library = arg === '-l' ? (next ?? '') : arg.slice(2);
    if (library.startsWith(':')) refuseOutside(library.slice(1), judgement);
    return arg === '-l' ? 1 : 0;
  }
  if (textOptions.has(arg)) return 1;
  if (/^-fmodule-mapper=\|/.test(arg)) {
    judgement.raise(startsProgram, arg);
    return 0;
  }
  if (/^-(D|U|A|x|MT|MQ)./.test(arg)) return 0;
  if (/^-T(bss|data|text)(=|$)/.test(arg)) return arg.includes('=') ? 0 : 1;
  return judgePathOption(arg, next, judgement);
}

function judgePathOption(arg: string, next: string | undefined, judgement: Judgement): number {
  for (const [name, use, rule] of pathOptions) {
    if (!arg.startsWith(name)) continue;
    const glued = arg.slice(name.length).replace(/^=/, '');
    if (rule) judgement.raise(rule, arg);
    if (glued === '' && name.endsWith('=')) return 0;
    if (glued !== '') judgement.path(glued, use);
    else if (next !== undefined) judgement.path(next, use);
    return glued === '' ? 1 : 0;
  }
  const equals = arg.indexOf('=');
  if (equals > 0 && !textValue.test(arg)) {
    const value = arg.slice(equals + 1);
    // -fdump-tree-all=x, -fprofile-use=x, -save-temps=obj: a path or a word; as a path it must be inside.
    if (value !== '')
      for (const part of value.split(/[,:=]/))
        if (part.includes('/') || part.startsWith('.')) judgement.path(part, 'write');
  }
  return 0;
}

function judgePassedOn(words: readonly string[], judgement: Judgement): void {
  let isRuntimePath = false;
  for (const [i, word] of words.entries()) {
    // The tool's own -o: what it writes must not be an executable binary by its name (TL-4).
    const output = /^(?:-o|--output)$/.test(words[i - 1] ?? '')
      ? word
      : /^(?:-o|--output=)(.+)$/.exec(word)?.[1];
    judgement.refuseBinary(output ?? '');
    const skip = isRuntimePath || runtimePaths.test(word);
    isRuntimePath = runtimePaths.test(word) && !word.includes('=');
    if (skip) continue;
    if (word.startsWith('@')) judgement.raise(loadsCode, word);
    const value = word.slice(word.indexOf('=') + 1).replace(/^@/, '');
    if (/^--?plugin(=|$)/.test(word)) judgement.raise(loadsCode, word);
    for (const text of [value, value.replace(/^-[A-Za-z]/, '')]) {
      refuseOutside(text, judgement);
      const checked = text === '' || text.startsWith('-') ? undefined : judgement.look(text);
      if (checked && !checked.ok && checked.refused.code === 'PATH_SENSITIVE')
        judgement.refuse(checked.refused);
    }
  }
}
