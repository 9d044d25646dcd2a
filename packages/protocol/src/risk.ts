import { z } from 'zod';

/** The risk of a tool call. LOW runs at once, MEDIUM asks, HIGH asks with a second step (RK-1). */
export const riskLevels = ['LOW', 'MEDIUM', 'HIGH'] as const;
export const riskLevelSchema = z.enum(riskLevels);
export type RiskLevel = z.infer<typeof riskLevelSchema>;

/** How long a person has to decide, in seconds. LOW never asks. */
export const approvalTimeoutSeconds: Readonly<Record<RiskLevel, number>> = { LOW: 0, MEDIUM: 300, HIGH: 600 };

export const isAbove = (a: RiskLevel, b: RiskLevel): boolean => riskLevels.indexOf(a) > riskLevels.indexOf(b);

export function higherRisk(a: RiskLevel, b: RiskLevel): RiskLevel {
  return riskLevels.indexOf(a) >= riskLevels.indexOf(b) ? a : b;
}

/** One reason for a decision (RK-3). */
export const reasonSchema = z.object({
  rule: z.string().min(1).describe('Id of the rule.'),
  why: z.string().min(1).describe('One sentence for the person.'),
  operand: z.string().optional().describe('What triggered it: a path, an option, a word of a command.'),
});
export type Reason = z.infer<typeof reasonSchema>;

/**
 * Limits for reasons on a card, in an event of at most 64 KB and in the body of a preview (EV-2). Policy may find more and
 * longer reasons, so senders call `boundedReasons`: otherwise a schema would refuse a call that policy accepted.
 */
export const reasonBounds = { reasons: 30, rule: 64, text: 500 } as const;

/** The reasons within `reasonBounds`. A last reason says how many were left out. */
export function boundedReasons(reasons: readonly Reason[]): Reason[] {
  const { reasons: most, rule: mostOfRule, text } = reasonBounds;
  const shown = reasons.length > most ? reasons.slice(0, most - 1) : reasons;
  const bounded = shown.map(({ rule, why, operand }) => ({
    rule: cut(rule, mostOfRule),
    why: cut(why, text),
    ...(operand !== undefined && { operand: cut(operand, text) }),
  }));
  const left = reasons.length - shown.length;
  return left === 0 ? bounded : [...bounded, { rule: 'MORE', why: `and ${left} more reasons` }];
}

const cut = (text: string, most: number): string =>
  (text.length <= most ? text : `${text.slice(0, most - 1)}…`).toWellFormed();
