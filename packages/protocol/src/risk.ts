import { z } from 'zod';

/** How much a tool call could hurt. LOW runs at once, MEDIUM asks, HIGH asks with a second step (RK-1). */
export const riskLevels = ['LOW', 'MEDIUM', 'HIGH'] as const;
export const riskLevelSchema = z.enum(riskLevels);
export type RiskLevel = z.infer<typeof riskLevelSchema>;

/** Seconds a person has to decide. LOW never asks, so it has none. */
export const approvalTimeoutSeconds: Readonly<Record<RiskLevel, number>> = { LOW: 0, MEDIUM: 300, HIGH: 600 };

/** The higher of two levels. */
export function higherRisk(a: RiskLevel, b: RiskLevel): RiskLevel {
  return riskLevels.indexOf(a) >= riskLevels.indexOf(b) ? a : b;
}

/** One reason for a decision: the rule that fired, a sentence for the person, and what triggered it (RK-3). */
export const reasonSchema = z.strictObject({
  rule: z.string().min(1),
  why: z.string().min(1),
  /** The part of the call that triggered the rule: a path, an option, a word of a command. */
  operand: z.string().optional(),
});
export type Reason = z.infer<typeof reasonSchema>;

/** What RiskAssessor says of a call that may run. */
export const assessmentSchema = z.strictObject({
  risk_level: riskLevelSchema,
  reasons: z.array(reasonSchema),
  /** Whether the call needs network; it has none in isolation unless this is true and shown on the card. */
  network: z.boolean(),
});
export type Assessment = z.infer<typeof assessmentSchema>;
