import { wordList } from '../word-list.ts';
import { readOptions } from './options.ts';

export const unpackers = wordList('tar gtar bsdtar unzip 7z 7za 7zz unrar cpio pax ditto');

/** The directory a call unpacks into, as it is written; undefined when it does not unpack. */
export function unpackTarget(name: string, args: readonly string[]): string | undefined {
  if (!unpackers.includes(name)) return undefined;
  switch (name) {
    case 'unzip': {
      const { flags, values } = readOptions(args, '-d -P -x');
      return ['l', 'v', 't', 'p', 'z', 'Z'].some((letter) => flags.has(letter))
        ? undefined
        : (values.get('d') ?? '.');
    }
    case '7z':
    case '7za':
    case '7zz':
    case 'unrar':
      if (args[0] !== 'x' && args[0] !== 'e') return undefined;
      return args.find((word) => word.startsWith('-o'))?.slice(2) ?? '.';
    case 'cpio':
      return args.some((word) => /^-\w*i|^--extract/.test(word)) ? '.' : undefined;
    case 'pax':
      return args.some((word) => /^-\w*r/.test(word)) ? '.' : undefined;
    case 'ditto':
      return args.includes('-x') || args.includes('-xk') ? (args.at(-1) ?? '.') : undefined;
    default: {
      // `tar xzf a`: the first word is a bundle of letters even without a dash
      const words = /^[A-Za-z]+$/.test(args[0] ?? '') ? [`-${args[0]}`, ...args.slice(1)] : args;
      const { flags } = readOptions(words);
      const { values } = readOptions(args.slice(1), '-C -f --directory --file');
      const extracts = flags.has('x') || flags.has('extract') || flags.has('get');
      return extracts ? (values.get('C') ?? values.get('directory') ?? '.') : undefined;
    }
  }
}
