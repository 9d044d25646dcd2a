import { join } from 'node:path';
import type { PolicyRule } from '@countersign/protocol';
import { PersonsPolicyFile, personsFolders } from '@countersign/tool-runner';
import type { Environment } from '../command-context.ts';
import { visible } from '../screen/paragraph.ts';
import type { Terminal } from '../terminal.ts';
import type { Words } from '../words.ts';

/** The person's own policy file, which every runner on this machine reads (RK-5). */
export const personsPolicyFile = (env: Environment): PersonsPolicyFile =>
  new PersonsPolicyFile(join(personsFolders(env).config, 'policy.json'));

/** A rule in one line: `allow  *  npm test *  (allow-npm-test)`. */
export function ruleLine(rule: PolicyRule, { policy }: Words): string {
  const { id, effect, tool, path, command, max_risk, harmless_only } = rule;
  const parts = [
    policy.effects[effect],
    ...(tool === '*' && (path ?? command) !== undefined ? [] : [tool]),
    ...(command === undefined ? [] : [command]),
    ...(path === undefined ? [] : [policy.inPath(path)]),
    ...(max_risk === undefined ? [] : [policy.upTo(max_risk)]),
    ...(harmless_only ? [policy.harmlessOnly] : []),
  ];
  return `${visible(parts.join('  '))}  (${visible(id)})`;
}

/** Asks a question that only `y` answers with yes. Without a person at the terminal, the answer is `otherwise`. */
export async function confirmed(terminal: Terminal, question: string, otherwise: boolean): Promise<boolean> {
  if (!terminal.interactive) return otherwise;
  for await (const line of terminal.typed(`${question} `)) return /^(y|yes|д|да)$/i.test(line.trim());
  return false;
}
