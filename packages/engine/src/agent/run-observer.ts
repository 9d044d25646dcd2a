import type { RunPlace } from './message-events.ts';

/** How a run left this node: it ended, somebody else ended or took it, or something went wrong. */
export type RunEnd = 'ended' | 'let_go' | { readonly error: unknown };

export type ModelCallEnd =
  | { readonly inputTokens: number; readonly outputTokens: number; readonly toolCalls: number }
  | { readonly error: unknown };

/** Is shown each run that this node drives, and each model call in it (OB-1). Each answer is called once, at the end. */
export interface RunObserver {
  drives(run: RunPlace): (end: RunEnd) => void;
  asksModel(call: {
    readonly runId: string;
    readonly step: number;
    readonly model: string;
  }): (end: ModelCallEnd) => void;
}
