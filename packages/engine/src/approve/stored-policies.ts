import {
  customToolsOf,
  type LoadedPolicy,
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
  type MachinePolicy,
  machineRuleId,
  type PolicyFile,
  type PolicyRule,
  withoutExamples as policyWithoutExamples,
  type RunnerCapability,
  runnerCapabilities,
  type SessionMode,
  type ToolDefinition,
  waitsForCommand,
} from '@countersign/protocol';
import { latestRunnerReport } from '../dispatch/runners.ts';
import { Refusal } from '../refusal.ts';
import type { ExecutionRow, Json, JsonObject } from '../rows.ts';
import type { Announcement, Reading, Store, Transaction, Unit } from '../store.ts';
import { type KeptPolicyFile, mergePolicies } from './policy-file.ts';
import { noRules, putPolicy } from './policy-rows.ts';
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
  /** The rules of the machine's own policy file. */
  readonly rules: readonly PolicyRule[];
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
  readonly #file: KeptPolicyFile | undefined;
  /** The file as it was read last, and why it cannot be used. */
  #seen: { readonly stamp: string; readonly problem?: string } | undefined;

  constructor(store: Store, masker: SecretMasker, limits: Limits, file?: KeptPolicyFile) {
    this.#store = store;
    this.#masker = masker;
    this.limits = limits;
    this.#file = file;
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
    if (this.#isFileNewer(userId)) return this.freshPolicyFor(userId, workspace);
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
    await this.#takeFromFile(userId);
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

  /** The person's rules as they are kept, and why the file they are kept in cannot be used. */
  async policyFile(userId: string): Promise<PolicyFile> {
    await this.#takeFromFile(userId);
    const row = await this.#store.read((tx) => tx.get('policies', userId));
    return row?.policy ?? noRules;
  }

  /** The file on this machine that holds the person's rules; undefined if they are kept in the database. */
  async fileOf(userId: string): Promise<{ readonly path: string; readonly problem?: string } | undefined> {
    if (this.#file?.userId !== userId) return undefined;
    await this.#takeFromFile(userId);
    const problem = this.#seen?.problem;
    return { path: this.#file.path, ...(problem !== undefined && { problem }) };
  }

  /** The person's own tools in a workspace (RN-8), and the limits in force there (TL-3). */
  async runnerFacts(userId: string, workspace: string | null): Promise<RunnerFacts> {
    if (workspace === null) return { tools: [], limits: this.limits, rules: [] };
    const report = await this.#store.read((tx) => latestRunnerReport(tx, userId, workspace));
    const { tools, limits, policy } = report;
    return { tools, limits: lowerLimits(this.limits, limits), rules: policy.policy?.rules ?? [] };
  }

  /**
   * Replaces the person's own policy. Throws if the new one is invalid, or POLICY_CHANGED if `before` is given and the policy
   * is another one by now.
   */
  async replace(userId: string, policy: PolicyFile, before?: PolicyFile): Promise<PolicyFile> {
    const change = (current: PolicyFile): PolicyFile => {
      if (before && canonicalJson(before) !== canonicalJson(current)) throw new Refusal('POLICY_CHANGED');
      return policy;
    };
    const audit = [{ action: 'policy.replaced', subject: userId, data: { rules: policy.rules.length } }];
    await this.#store.write((tx) => this.#change(tx, userId, change, audit));
    this.forget(userId);
    return policy;
  }

  /** Inside a unit: adds a rule to the person's own policy (AP-4, "always"). Throws if the policy would become invalid. */
  *addRule(tx: Transaction, userId: string, rule: PolicyRule): Unit<void> {
    yield* this.#change(tx, userId, (current) => ({ ...current, rules: [...current.rules, rule] }));
  }

  /** Changes the policy where it is kept. If it is a file, that comes first: the database has only a copy. */
  *#change(
    tx: Transaction,
    userId: string,
    change: (current: PolicyFile) => PolicyFile,
    audit: Announcement['audit'] = [],
  ): Unit<void> {
    const row = yield* tx.get('policies', userId);
    const checked = (current: PolicyFile): PolicyFile => {
      const changed = change(current);
      requireValid(changed);
      return changed;
    };
    const file = this.#file?.userId === userId ? this.#file : undefined;
    const policy = file ? file.update(checked) : checked(row?.policy ?? noRules);
    yield* putPolicy(tx, userId, { policy, file: file?.path ?? null, now: this.#store.now() });
    if (audit.length > 0) tx.announce(userId, { audit });
  }

  #isFileNewer(userId: string): boolean {
    return this.#file?.userId === userId && this.#file.stamp() !== this.#seen?.stamp;
  }

  /** Copies the person's policy file into the database if it has changed. */
  async #takeFromFile(userId: string): Promise<void> {
    const file = this.#file;
    if (!file || !this.#isFileNewer(userId)) return;
    const stamp = file.stamp();
    const reading = file.read();
    this.forget(userId);
    if (!reading.ok) {
      this.#seen = { stamp, problem: reading.problem };
      return;
    }
    const now = this.#store.now();
    await this.#store.write(function* (tx) {
      const row = yield* tx.get('policies', userId);
      const isCopy = row?.file === file.path;
      if (isCopy && canonicalJson(row.policy) === canonicalJson(reading.policy)) return;
      // Rules that were kept in the database until now move to the file.
      const policy =
        row && !isCopy && hasRules(row.policy)
          ? file.update((current) => mergePolicies(current, row.policy))
          : reading.policy;
      yield* putPolicy(tx, userId, { policy, file: file.path, now });
      const data = { rules: policy.rules.length, file: file.path };
      tx.announce(userId, { audit: [{ action: 'policy.read_from_file', subject: userId, data }] });
    });
    this.#seen = { stamp };
  }

  /** Why the person's file cannot be used: its allow rules count no more, and their machine refuses every call. */
  #problemOfFile(userId: string): string | undefined {
    return this.#file?.userId === userId ? this.#seen?.problem : undefined;
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
    const problem = reading.ok ? this.#problemOfFile(userId) : reading.problem;
    const own =
      reading.ok && problem === undefined ? reading.policy : readDamagedPolicy(file, 'person', problem ?? '');
    const machine = machinePolicy(report.policy, file);
    const policy = new ToolCallPolicy({
      root,
      policies: machine ? [own, machine] : [own],
      customTools: customToolsOf(report.tools),
      limits: lowerLimits(this.limits, report.limits),
    });
    this.#madeFrom.set(policy, { version: row?.version ?? 0, report: canonicalJson(report) });
    return policy;
  }
}

const hasRules = ({ rules, programs = [], sensitive_paths = [] }: PolicyFile): boolean =>
  rules.length + programs.length + sensitive_paths.length > 0;

/**
 * The policy of the runner's machine. Undefined if it has none, or if it is the file that this server itself keeps the
 * person's rules in.
 */
function machinePolicy({ policy }: MachinePolicy, kept: PolicyFile): LoadedPolicy | undefined {
  if (!policy || canonicalJson(policy) === canonicalJson(policyWithoutExamples(kept))) return undefined;
  const rules = policy.rules.map((rule) => ({ ...rule, id: machineRuleId(rule.id) }));
  const named = { ...policy, rules };
  const reading = readPolicyFile(JSON.stringify(named), 'person');
  return reading.ok ? reading.policy : readDamagedPolicy(named, 'person', reading.problem);
}

function requireValid(file: PolicyFile): void {
  const reading = readPolicyFile(JSON.stringify(file), 'person');
  if (!reading.ok) throw new Refusal('POLICY_INVALID', { problem: reading.problem });
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

const offered: readonly ToolDefinition[] = (catalogue as readonly ToolDefinition[]).filter(
  ({ madeBy }) => madeBy === undefined,
);

function catalogueUnder(limits: Limits): readonly AvailableTool[] {
  const key = JSON.stringify(limits);
  if (cached?.limits !== key)
    cached = { limits: key, tools: offered.map((tool) => describeTool(tool, limits)) };
  return cached.tools;
}

/**
 * The catalogue and the workspace's custom tools, without tools that the policy or the mode always denies (AG-4). A rule with a path
 * or a command denies only some calls: its tool is offered, and those calls are refused. Models get the same list as
 * `GET …/tools/available`.
 */
export function availableTools(
  policy: PolicyFile,
  { tools, limits, rules }: RunnerFacts,
  mode: SessionMode = 'ask',
): readonly AvailableTool[] {
  const denied = [...policy.rules, ...rules].flatMap(toolsDeniedOutright);
  const all = [...catalogueUnder(limits), ...tools.map(describeCustomTool)];
  return all.filter(({ name }) => isOfferedIn(mode, name) && !denied.some((denies) => denies(name)));
}

function toolsDeniedOutright(rule: PolicyRule): ((tool: string) => boolean)[] {
  if (rule.effect !== 'deny' || rule.path !== undefined || rule.command !== undefined) return [];
  const parsed = parseGlob(rule.tool);
  return parsed.ok ? [(tool) => parsed.glob.matches(tool)] : [];
}
