/** Capabilities that a runner declares when it opens its stream, beside its tool categories (EV-3). */
export const runnerCapabilities = {
  /** The runner previews each call of its workspace: no call above LOW is approved without a preview (AP-7). */
  preview: 'preview',
  /** The runner applies `path_rules` to the real disk: only such a runner gets calls that these rules concern (RK-5, VA-8). */
  pathRules: 'path_rules',
  /** The runner can try a command in a layer before anybody approved it (RN-13). */
  trials: 'trials',
} as const;
export type RunnerCapability = (typeof runnerCapabilities)[keyof typeof runnerCapabilities];
