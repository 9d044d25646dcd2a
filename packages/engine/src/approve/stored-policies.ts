import {
  customToolsOf,
  readDamagedPolicy,
  readPolicyFile,
  type SecretMasker,
  ToolCallPolicy,
} from '@countersign/policy';
import {
  type CustomTool,
  canonicalJson,
  isCustomToolName,
  type Limits,
  lowerLimits,
  type PolicyFile,
  type PolicyRule,
  waitsForCommand,
} from '@countersign/protocol';
import { toldByRunner } from '../dispatch/runner-facts.ts';
import { Refusal } from '../refusal.ts';
import type { Json, JsonObject } from '../rows.ts';
import type { Reading, Store, Transaction, Unit } from '../store.ts';

/** More than are in use at once; what is forgotten is read again at the next call. */
const MOST_WORKSPACES = 100;
const MOST_PEOPLE = 10_000;

/** A workspace that no runner has named yet is judged by text as this. */
const UNKNOWN_WORKSPACE = '/workspace';

/** What is so in one workspace. */
export interface RunnerFacts {
  readonly tools: readonly CustomTool[];
  /** In force: the stricter of the operator's and the runner's. */
  readonly limits: Limits;
}

/**
 * The policy of each person in each workspace, made once and kept until the person changes it. A workspace's own
 * file is on the person's machine: the runner joins it to its verdict (VA-8).
 */
export class StoredPolicies {
  readonly #store: Store;
  readonly #masker: SecretMasker;
  readonly #cached = new Map<
    string,
    { readonly version: number; readonly byRoot: Map<string, ToolCallPolicy> }
  >();
  /** What each policy was made from: the version of the person's own, and what the runner had told. */
  readonly #madeFrom = new WeakMap<ToolCallPolicy, { readonly version: number; readonly told: string }>();

  /** The operator's (TL-3). */
  readonly limits: Limits;

  constructor(store: Store, masker: SecretMasker, limits: Limits) {
    this.#store = store;
    this.#masker = masker;
    this.limits = limits;
  }

  /**
   * Synchronously when it is known already, which spares the hot path a turn. For a custom tool it is read anew; where
   * other nodes may have changed it, what is remembered counts only while it is the newest version.
   */
  policyFor(
    userId: string,
    workspace: string | null,
    tool: string,
  ): ToolCallPolicy | Promise<ToolCallPolicy> {
    const known = this.#cached.get(userId);
    const policy = known?.byRoot.get(workspace ?? UNKNOWN_WORKSPACE);
    // Other nodes may have heard of a runner's tools and limits what this one has not.
    const isFreshNeeded = isCustomToolName(tool) || (this.#store.isShared && waitsForCommand(tool));
    if (!known || !policy || isFreshNeeded) return this.freshPolicyFor(userId, workspace);
    return this.#store.isShared ? this.#ifNewest(userId, workspace, known.version, policy) : policy;
  }

  async #ifNewest(
    userId: string,
    workspace: string | null,
    version: number,
    policy: ToolCallPolicy,
  ): Promise<ToolCallPolicy> {
    const newest = await this.#store.read((tx) => tx.policyVersion(userId));
    return newest === version ? policy : this.freshPolicyFor(userId, workspace);
  }

  /** With the custom tools as the workspace's runner told them last, to whichever node. */
  freshPolicyFor(userId: string, workspace: string | null): Promise<ToolCallPolicy> {
    return this.#load(userId, workspace ?? UNKNOWN_WORKSPACE);
  }

  /** Which version of the stored policy this one was made from: in a unit, whether that is still the one that counts. */
  versionOf(policy: ToolCallPolicy): number {
    return this.#madeFrom.get(policy)?.version ?? 0;
  }

  /** This node changed it: read again at the next call. */
  forget(userId: string): void {
    this.#cached.delete(userId);
  }

  async policyFile(userId: string): Promise<PolicyFile> {
    const row = await this.#store.read((tx) => tx.get('policies', userId));
    return row?.policy ?? noRules;
  }

  /** What the workspace's runner told: the person's own tools (RN-8), and bounds that may be lower than ours (TL-3). */
  async runnerFacts(userId: string, workspace: string | null): Promise<RunnerFacts> {
    if (workspace === null) return { tools: [], limits: this.limits };
    const told = await this.#store.read((tx) => toldByRunner(tx, userId, workspace));
    return { tools: told.tools, limits: lowerLimits(this.limits, told.limits) };
  }

  /** Replaces the person's own policy. An invalid one changes nothing. */
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

  /** Inside a unit: one more rule of the person's own (AP-4, "always"). The file stays valid, or nothing changes. */
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

  /** Inside a unit: the policy with what this unit has saved. */
  *policyInside(tx: Reading, userId: string, workspace: string | null): Unit<ToolCallPolicy> {
    const root = workspace || UNKNOWN_WORKSPACE;
    const row = yield* tx.get('policies', userId);
    const told = yield* toldByRunner(tx, userId, root);
    const file = row?.policy ?? noRules;
    const reading = readPolicyFile(JSON.stringify(file), 'person');
    // A stored policy was valid when it was saved. Should it not be now, what it forbids is forbidden all the same.
    const own = reading.ok ? reading.policy : readDamagedPolicy(file, 'person', reading.problem);
    const policy = new ToolCallPolicy({
      root,
      policies: [own],
      customTools: customToolsOf(told.tools),
      limits: lowerLimits(this.limits, told.limits),
    });
    this.#madeFrom.set(policy, { version: row?.version ?? 0, told: canonicalJson(told) });
    return policy;
  }

  async #load(userId: string, root: string): Promise<ToolCallPolicy> {
    const policy = await this.#store.read((tx) => this.policyInside(tx, userId, root));
    const version = this.versionOf(policy);
    const known = this.#cached.get(userId);
    // Policies of other workspaces that were made from an older version go with it.
    const byRoot = known?.version === version ? known.byRoot : new Map<string, ToolCallPolicy>();
    const before = byRoot.get(root);
    // The same object while nothing has changed: a decision that it made still counts.
    if (before && this.#madeFrom.get(before)?.told === this.#madeFrom.get(policy)?.told) return before;
    if (byRoot.size >= MOST_WORKSPACES) byRoot.clear();
    byRoot.set(root, policy);
    if (this.#cached.size >= MOST_PEOPLE) this.#cached.clear();
    this.#cached.set(userId, { version, byRoot });
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
