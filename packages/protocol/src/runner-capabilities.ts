/** What a runner says of itself when it opens its stream, beside the categories of tools that it has (EV-3). */
export const runnerCapabilities = {
  /** It previews each call of its workspace: nothing above LOW is approved before (AP-7). */
  preview: 'preview',
  /** It applies `path_rules` to the real disk: a call that such rules touch goes to no other runner (RK-5, VA-8). */
  pathRules: 'path_rules',
} as const;
export type RunnerCapability = (typeof runnerCapabilities)[keyof typeof runnerCapabilities];
