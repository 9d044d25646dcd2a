import { originOf } from '../program/marks.ts';
import { readOptions } from '../program/options.ts';
import type { ProgramCall } from './program-call.ts';
import { contentOf } from './redirections.ts';
import { resolvePlaces } from './word-paths.ts';

const COMPILES = /^(gcc|g\+\+|cc|c\+\+|clang|clang\+\+|rustc|tcc|ghc|ocamlfind|swiftc|dmd|nim)$/;
const EXPANDS = /^(gunzip|gzip|unxz|xz|bunzip2|bzip2|unzstd|zstd|uncompress|lz4|brotli)$/;

/**
 * A file that a compiler or gunzip makes out of a download is a download. Archives are not followed: the line does not
 * say which files are in them, so a person decides (`curl … | tar xz && cd x && ./configure`).
 */
export function followMadeFiles(call: ProgramCall): void {
  const { run, name, args } = call;
  const { operands, every } = readOptions(args, '-o -f --output --file');
  const read = [...operands, ...every('f', 'file')];
  const origin = originOf([...read.map((word) => contentOf(run, word)), ...(run.stdin ?? [])].join(''));
  if (origin === '') return;
  for (const file of COMPILES.test(name)
    ? compiled(operands, every('o'))
    : EXPANDS.test(name)
      ? expanded(operands)
      : [])
    for (const place of resolvePlaces(run, file)) run.state.writeFile(place, origin);
}

const compiled = (sources: readonly string[], named: readonly string[]): readonly string[] =>
  named.length > 0 ? named : ['a.out', ...sources.map(withoutExtension)];

const expanded = (files: readonly string[]): readonly string[] => files.map(withoutExtension);

const withoutExtension = (path: string): string => path.replace(/\.[^./]+$/, '');
