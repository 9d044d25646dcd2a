import { ApiError, type CallResponse, type Client } from '@countersign/client';
import { CountersignError, type PolicyRule } from '@countersign/protocol';
import type { Environment } from '../command-context.ts';
import { visible } from '../screen/paragraph.ts';
import { serverAccess } from '../sign-in/server-access.ts';
import type { Words } from '../words.ts';

/** What a rule would have decided on the recorded calls. */
export type BacktestResult = Omit<CallResponse<'backtestPolicy'>, 'success'>;

export interface RuleHistory {
  /** Undefined if the server cannot be asked; `problem` then says why. */
  backtest(rule: PolicyRule): Promise<BacktestResult | undefined>;
  readonly problem: string | undefined;
}

/**
 * Tries rules on the history that a server has recorded (RK-5). Saving a rule needs no server, so a missing server is
 * not an error.
 */
export function ruleHistory(server: string | undefined, words: Words, env: Environment): RuleHistory {
  let problem: string | undefined;
  let client: Client | undefined;
  try {
    client = serverAccess(server, words, env).client;
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error;
    problem = words.said(error);
  }
  return {
    get problem() {
      return problem;
    },
    async backtest(rule) {
      if (!client) return undefined;
      try {
        const { success: _, ...found } = await client.backtestPolicy({ body: { rule } });
        return found;
      } catch (error) {
        // Do not save a rule that the server refuses. If the server cannot be reached, do not ask it again.
        if (!(error instanceof ApiError) || error.code === 'POLICY_INVALID') throw error;
        problem = words.said(error);
        client = undefined;
        return undefined;
      }
    },
  };
}

/** The result of a backtest, as lines for the terminal. */
export function backtestLines(found: BacktestResult, { policy }: Words, mostExamples = 5): string[] {
  const { considered, matched, would_change, approved_before, rejected_before, examples } = found;
  return [
    policy.matched({ considered, matched, wouldChange: would_change }),
    ...(matched > 0 ? [policy.decided(approved_before, rejected_before)] : []),
    ...examples
      .slice(0, mostExamples)
      .map(
        ({ description, before, after }) =>
          `  ${visible(before)} → ${visible(after)}  ${visible(description)}`,
      ),
  ];
}
