import { Refusal } from '../refusal.ts';
import type { RunRow } from '../rows.ts';

/** What one run may use up (AG-3). */
export interface RunBudget {
  /** Model calls. */
  readonly steps: number;
  /** Input and output together. */
  readonly tokens: number;
  /** From the message to the answer, the person's thinking included. */
  readonly milliseconds: number;
}

export const defaultBudget: RunBudget = { steps: 50, tokens: 2_000_000, milliseconds: 4 * 3_600_000 };

/** What a run has used up before its next model call, if anything. */
export function exceededBudget(run: RunRow, budget: RunBudget, now: number): Refusal | undefined {
  if (run.step >= budget.steps) return exceeded(`${budget.steps} steps`);
  if (run.input_tokens + run.output_tokens >= budget.tokens) return exceeded(`${budget.tokens} tokens`);
  if (now - run.created_at >= budget.milliseconds) return timeExceeded(budget);
  return undefined;
}

export const timeExceeded = ({ milliseconds }: RunBudget): Refusal =>
  exceeded(
    milliseconds < 60_000
      ? `${Math.round(milliseconds / 1000)} seconds`
      : `${Math.round(milliseconds / 60_000)} minutes`,
  );

const exceeded = (budget: string): Refusal => new Refusal('BUDGET_EXCEEDED', { budget });
