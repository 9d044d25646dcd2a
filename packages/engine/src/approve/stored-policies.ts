import {
  customToolsOf,
  parseGlob,
  readDamagedPolicy,
  readPolicyFile,
  rulesOnPaths,
  type SecretMasker,
  ToolCallPolicy,
} from '@countersign/policy';
import {
  type AvailableTool,
  type CustomTool,
  canonicalJson,
  catalogue,
  describeCustomTool,
  describeTool,
  isCustomToolName,
  type Limits,
  lowerLimits,
  type PolicyFile,
  type PolicyRule,
  type RunnerCapability,
  runnerCapabilities,
  type SessionMode,
  waitsForCommand,
} from '@countersign/protocol';
import { latestRunnerReport } from '../dispatch/runners.ts';
import { Refusal } from '../refusal.ts';
import type { ExecutionRow, Json, JsonObject } from '../rows.ts';
import type { Reading, Store, Transaction, Unit } from '../store.ts';
import { isOfferedIn } from './read-only-sessions.ts';

/** Cache limits: workspaces of one person, and people. */
const MAX_WORKSPACES = 100;
const MAX_PEOPLE = 10_000;

/** The root of a project whose workspace is not known yet. */
const UNKNOWN_WORKSPACE = '/workspace';

export interface RunnerFacts {
  readonly tools: readonly CustomTool[];
  /** The stricter of the operator's and the runner's limits. */
  readonly limits: Limits;
}

/**
 * The policy of each person in each workspace, cached until the person changes it. The workspace's own policy file is on
 * the person's machine, where the runner applies it (VA-8).
 */
export class StoredPolicies {
  readonly #store: Store;
  readonly #masker: SecretMasker;
  readonly #cached = new Map<
    string,
    { readonly version: number; readonly byRoot: Map<string, ToolCallPolicy> }
  >();
  /** What each policy was made from: the version of the person's policy, and the runner's report. */
  readonly #madeFrom = new WeakMap<ToolCallPolicy, { readonly version: number; readonly report: string }>();

  /** The operator's limits (TL-3). */
  readonly limits: Limits;

  constructor(store: Store, masker: SecretMasker, limits: Limits) {
    this.#store = store;
    this.#masker = masker;
    this.limits = limits;
  }

  /**
   * Returns a cached policy synchronously, to save a turn of the event loop. For a custom tool, the policy is always
   * read again. If other nodes share the database, a cached policy is returned only if its version is the newest.
   */
  policyFor(
    userId: string,
    workspace: string | null,
    tool: string,
  ): ToolCallPolicy | Promise<ToolCallPolicy> {
    const known = this.#cached.get(userId);
    const policy = known?.byRoot.get(workspace ?? UNKNOWN_WORKSPACE);
    // Other nodes may know newer tools and limits of the runner.
    const isFreshNeeded = isCustomToolName(tool) || (this.#store.isShared && waitsForCommand(tool));
    if (!known || !policy || isFreshNeeded) return this.freshPolicyFor(userId, workspace);
    if (!this.#store.isShared) return policy;
    return this.#store
      .read((tx) => tx.policyVersion(userId))
      .then((newest) => (newest === known.version ? policy : this.freshPolicyFor(userId, workspace)));
  }

  /** Reads the policy from the database, with the custom tools that the workspace's runner reported last, to any node. */
  async freshPolicyFor(userId: string, workspace: string | null): Promise<ToolCallPolicy> {
    const root = workspace ?? UNKNOWN_WORKSPACE;
    const policy = await this.#store.read((tx) => this.policyInside(tx, userId, root));
    const version = this.versionOf(policy);
    const known = this.#cached.get(userId);
    // Drop the policies of other workspaces if they were made from an older version.
    const byRoot = known?.version === version ? known.byRoot : new Map<string, ToolCallPolicy>();
    const before = byRoot.get(root);
    // Return the same object while nothing has changed, so that its earlier decisions still count.
    if (before && this.#madeFrom.get(before)?.report === this.#madeFrom.get(policy)?.report) return before;
    if (byRoot.size >= MAX_WORKSPACES) byRoot.clear();
    byRoot.set(root, policy);
    if (this.#cached.size >= MAX_PEOPLE) this.#cached.clear();
    this.#cached.set(userId, { version, byRoot });
    return policy;
  }

  /** The version of the stored policy that this one was made from. Compare it with `policyVersion` in a unit. */
  versionOf(policy: ToolCallPolicy): number {
    return this.#madeFrom.get(policy)?.version ?? 0;
  }

  /** Drops a person's cached policies after this node changed one. */
  forget(userId: string): void {
    this.#cached.delete(userId);
  }

  async policyFile(userId: string): Promise<PolicyFile> {
    const row = await this.#store.read((tx) => tx.get('policies', userId));
    return row?.policy ?? noRules;
  }

  /** The person's own tools in a workspace (RN-8), and the limits in force there (TL-3). */
  async runnerFacts(userId: string, workspace: string | null): Promise<RunnerFacts> {
    if (workspace === null) return { tools: [], limits: this.limits };
    const report = await this.#store.read((tx) => latestRunnerReport(tx, userId, workspace));
    return { tools: report.tools, limits: lowerLimits(this.limits, report.limits) };
  }

  /** Replaces the person's own policy. Throws if the new one is invalid. */
  async replace(userId: string, file: PolicyFile): Promise<PolicyFile> {
    requireValid(file);
    const store = this.#store;
    await store.write(function* (tx) {
      yield* putPolicy(tx, userId, file, store.now());
      tx.announce(userId, {
        audit: [{ action: 'policy.replaced', subject: userId, data: { rules: file.rules.length } }],
      });
    });
    this.forget(userId);
    return file;
  }

  /** Inside a unit: adds a rule to the person's own policy (AP-4, "always"). Throws if the policy would become invalid. */
  *addRule(tx: Transaction, userId: string, rule: PolicyRule): Unit<void> {
    const row = yield* tx.get('policies', userId);
    const before: PolicyFile = row?.policy ?? noRules;
    const file: PolicyFile = { ...before, rules: [...before.rules, rule] };
    requireValid(file);
    yield* putPolicy(tx, userId, file, this.#store.now());
  }

  /** Parameters as records and logs may show them (DA-3). */
  mask(params: JsonObject): Json {
    return this.#masker.maskValue(params) as Json;
  }

  /** Inside a unit: makes the policy, including changes that this unit has written. */
  *policyInside(tx: Reading, userId: string, workspace: string | null): Unit<ToolCallPolicy> {
    const root = workspace || UNKNOWN_WORKSPACE;
    const row = yield* tx.get('policies', userId);
    const report = yield* latestRunnerReport(tx, userId, root);
    const file = row?.policy ?? noRules;
    const reading = readPolicyFile(JSON.stringify(file), 'person');
    // A stored policy was valid when it was saved. If it no longer is, its denials still apply.
    const own = reading.ok ? reading.policy : readDamagedPolicy(file, 'person', reading.problem);
    const policy = new ToolCallPolicy({
      root,
      policies: [own],
      customTools: customToolsOf(report.tools),
      limits: lowerLimits(this.limits, report.limits),
    });
    this.#madeFrom.set(policy, { version: row?.version ?? 0, report: canonicalJson(report) });
    return policy;
  }
}

const noRules: PolicyFile = { version: 1, rules: [] };

function requireValid(file: PolicyFile): void {
  const reading = readPolicyFile(JSON.stringify(file), 'person');
  if (!reading.ok) throw new Refusal('POLICY_INVALID', { problem: reading.problem });
}

function* putPolicy(tx: Transaction, userId: string, policy: PolicyFile, now: number): Unit<void> {
  const before = yield* tx.get('policies', userId);
  if (before) yield* tx.update('policies', userId, { policy, version: before.version + 1, updated_at: now });
  else yield* tx.insert('policies', { id: userId, user_id: userId, policy, version: 1, updated_at: now });
}

/** The rules of the person's own policy that a runner applies to the real disk (RK-5, VA-8), as they are stored now. */
export function* pathRulesFor(
  tx: Reading,
  { user_id, tool_name }: Pick<ExecutionRow, 'user_id' | 'tool_name'>,
): Unit<readonly PolicyRule[]> {
  const row = yield* tx.get('policies', user_id);
  return rulesOnPaths(row?.policy.rules ?? [], tool_name);
}

/** The capability that a runner needs for a call that these rules touch. */
export const capabilityFor = (rules: readonly PolicyRule[]): RunnerCapability | undefined =>
  rules.length > 0 ? runnerCapabilities.pathRules : undefined;

/** The catalogue under the limits that were used last, cached because a run asks at every step. */
let cached: { readonly limits: string; readonly tools: readonly AvailableTool[] } | undefined;

function catalogueUnder(limits: Limits): readonly AvailableTool[] {
  const key = JSON.stringify(limits);
  if (cached?.limits !== key)
    cached = { limits: key, tools: catalogue.map((tool) => describeTool(tool, limits)) };
  return cached.tools;
}

/**
 * The catalogue and the workspace's custom tools, without tools that the policy or the mode always denies (AG-4). A rule with a path
 * or a command denies only some calls: its tool is offered, and those calls are refused. Models get the same list as
 * `GET …/tools/available`.
 */
export function availableTools(
  policy: PolicyFile,
  { tools, limits }: RunnerFacts,
  mode: SessionMode = 'ask',
): readonly AvailableTool[] {
  const denied = policy.rules.flatMap(toolsDeniedOutright);
  const all = [...catalogueUnder(limits), ...tools.map(describeCustomTool)];
  return all.filter(({ name }) => isOfferedIn(mode, name) && !denied.some((denies) => denies(name)));
}

function toolsDeniedOutright(rule: PolicyRule): ((tool: string) => boolean)[] {
  if (rule.effect !== 'deny' || rule.path !== undefined || rule.command !== undefined) return [];
  const parsed = parseGlob(rule.tool);
  return parsed.ok ? [(tool) => parsed.glob.matches(tool)] : [];
}
