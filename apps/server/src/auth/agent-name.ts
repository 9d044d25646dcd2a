import { makeVisible } from '@countersign/protocol';

/** Who else asks on cards, and the person themselves. */
const taken = new Set(['agent', 'you', 'countersign', 'агент', 'вы']);

/**
 * Why an agent cannot have this name; undefined: it can. Cards begin with it ("Claude Code wants to change a.ts"), and
 * it may come from the configuration of a cloned repository: it must not read as somebody else, nor as the sentence.
 */
export function problemOfAgentName(name: string): string | undefined {
  const plain = name.trim().toLowerCase();
  if (plain === '') return 'name: it is empty';
  if (/[\n\t]/.test(name) || makeVisible(name) !== name)
    return 'name: it has characters that hide something or imitate others';
  if (taken.has(plain)) return `name: "${name.trim()}" is somebody else; call it by its program`;
  if (/\bwants\s+to\b|хоч[еу]т\s/.test(plain)) return 'name: it reads as a sentence; call it by its program';
  return undefined;
}
