import { compileRule } from '@countersign/policy';
import {
  CountersignError,
  changingToolsPattern,
  type PolicyRule,
  riskLevelSchema,
} from '@countersign/protocol';
import { usageOf } from '../command-context.ts';
import type { Words } from '../words.ts';

const usage = usageOf('policy');

export type Effect = PolicyRule['effect'];

export interface RuleWords {
  readonly effect: Effect;
  /** The command pattern, as one word or several. */
  readonly command: readonly string[];
  readonly tool?: string | undefined;
  readonly path?: string | undefined;
  readonly 'max-risk'?: string | undefined;
  readonly id?: string | undefined;
  readonly why?: string | undefined;
}

/** Makes the rule of `countersign policy allow npm test '*'`. Throws if the words do not make a valid rule. */
export function ruleOfWords(given: RuleWords, taken: readonly PolicyRule[], { policy }: Words): PolicyRule {
  const { effect, tool, path, why, 'max-risk': maxRisk } = given;
  const command = given.command.join(' ').trim().replaceAll(/\s+/g, ' ') || undefined;
  if (command === undefined && path === undefined && tool === undefined) throw usage(policy.whichRule);
  const risk = maxRisk === undefined ? undefined : riskLevelSchema.safeParse(maxRisk.toUpperCase());
  if (risk && (!risk.success || effect !== 'allow')) throw usage(policy.badRisk);
  const rule: PolicyRule = {
    id: '',
    effect,
    tool: tool ?? toolFor(effect, path),
    ...(path !== undefined && { path }),
    ...(command !== undefined && { command }),
    ...(risk?.data && { max_risk: risk.data }),
    ...(why !== undefined && { why }),
  };
  const named = { ...rule, id: given.id ?? freeId(idOf(rule), taken) };
  const compiled = compileRule(named, 'person');
  if (typeof compiled === 'string') throw new CountersignError('POLICY_INVALID', { problem: compiled });
  return named;
}

/** If only a path is given, `allow` covers changes there; `deny` and `ask` cover every use. */
const toolFor = (effect: Effect, path: string | undefined): string =>
  effect === 'allow' && path !== undefined ? changingToolsPattern : '*';

/** `allow npm run test *` → `allow-npm-run-test`. */
export function idOf({ effect, tool, path, command }: PolicyRule): string {
  const named = [effect, command ?? '', path ?? '', command === undefined && path === undefined ? tool : ''];
  return named
    .join(' ')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 80);
}

export function freeId(id: string, taken: readonly Pick<PolicyRule, 'id'>[]): string {
  const ids = new Set(taken.map((rule) => rule.id));
  if (!ids.has(id)) return id;
  let number = 2;
  while (ids.has(`${id}-${number}`)) number++;
  return `${id}-${number}`;
}
