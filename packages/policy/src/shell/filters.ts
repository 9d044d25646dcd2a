import { DOWNLOADED, HIDDEN, hasHole, hasPattern, madeFrom, originOf, UNKNOWN } from '../program/marks.ts';
import { readOptions } from '../program/options.ts';
import { contentOf } from './redirections.ts';
import type { ProgramCall } from './shell-run.ts';
import { resolvePlaces } from './word-paths.ts';

/** Filters whose output is lines of their input, so that the input says all that can come out. */
const PASSES =
  /^(cat|tee|head|tail|sort|uniq|grep|egrep|fgrep|rg|tac|shuf|pv|sponge|more|less|dd|bat|column|stdbuf|ts|gcat)$/;
/** Filters that make other text out of their input. */
const TRANSFORMS =
  /^(rev|tr|sed|gsed|awk|gawk|mawk|nawk|cut|fold|paste|fmt|join|jq|yq|perl|python\d?|iconv|expand|unexpand|nl|pr|m4|envsubst|bc|dc|od|hexdump)$/;

/** What a call reads: files that this line wrote, and its standard input. */
export function inputsOf({ run, args }: ProgramCall): readonly string[] {
  return [...fileInputs(run, readOptions(args).operands), ...(run.stdin ?? [])];
}

const fileInputs = (run: ProgramCall['run'], operands: readonly string[]): readonly string[] =>
  operands
    .map((word) => contentOf(run, word.startsWith('if=') ? word.slice(3) : word))
    .filter((content) => content !== UNKNOWN);

/** What a program may print, judged by what it reads: its standard input and files that this line wrote. */
export function filtered({ run, name, args }: ProgramCall): readonly string[] {
  const operands = readOptions(args).operands;
  const files = fileInputs(run, operands);
  const input = [...files, ...(run.stdin ?? [])];
  if (isDecoder(name, args)) return [originOf(input.join('')) || HIDDEN];
  if (PASSES.test(name)) {
    const cuts = args.some((word) => /^-\w*c|^--bytes|^(skip|bs|count)=/.test(word)) && name !== 'cat';
    if (name === 'tee' || name === 'sponge')
      for (const word of operands)
        for (const place of resolvePlaces(run, word)) run.state.writeFile(place, input.join('\n'));
    if (name === 'dd')
      for (const word of operands)
        if (word.startsWith('of='))
          for (const place of resolvePlaces(run, word.slice(3))) run.state.writeFile(place, input.join('\n'));
    const readsUnknown = operands.length > files.length && /^(cat|bat|gcat)$/.test(name);
    if (input.length > 0 && !cuts) return readsUnknown ? [...input, UNKNOWN + input.join('\n')] : input;
    if (input.length === 0) return [UNKNOWN];
  }
  const isKnown =
    input.length > 0 && input.every((text) => text !== '' && !hasHole(text) && !hasPattern(text));
  if (isKnown && (TRANSFORMS.test(name) || PASSES.test(name))) return [HIDDEN];
  // names from a listing may pass unchanged
  const names = TRANSFORMS.test(name) ? input.filter((text) => hasPattern(text) && !hasHole(text)) : [];
  const fetched = args.some((word) => /^(https?|ftps?|wss?|s3|gs):\/\//.test(word)) ? [DOWNLOADED] : [];
  return [madeFrom(...input, ...fetched), ...names];
}

function isDecoder(name: string, args: readonly string[]): boolean {
  if (/^(base64|base32|base58|basenc|gbase64)$/.test(name))
    return args.some((word) => /^-\w*[dD]|^--d/.test(word));
  if (name === 'xxd') return args.some((word) => /^-\w*r/.test(word));
  if (name === 'openssl') return args.some((word) => /^-(d|A|a|base64)$/.test(word)) || args[0] === 'base64';
  return /^(uudecode|gpg|age|rot13|ccrypt|mcrypt|steghide|qrencode|zbarimg)$/.test(name);
}
