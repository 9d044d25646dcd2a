import {
  type ApprovalRow,
  type ExecutionRow,
  type JsonObject,
  type PayloadRow,
  Refusal,
  type Store,
} from '@countersign/engine';
import {
  type CompiledRule,
  compileRule,
  isRefused,
  type LoadedPolicy,
  readPolicyFile,
  ToolCallPolicy,
} from '@countersign/policy';
import { describeCall, type PolicyFile, type PolicyRule } from '@countersign/protocol';

export interface Backtest {
  considered: number;
  matched: number;
  would_change: number;
  approved_before: number;
  rejected_before: number;
  examples: { tool_id: string; description: string; before: string; after: string }[];
}

/** How long to work before other requests are served. */
const YIELD_AFTER_MS = 10;
/** How many calls a rule is tried on: enough to judge it, without reading for minutes. */
const MAX_CALLS = 5_000;
const PAGE = 100;
const MAX_EXAMPLES = 20;

/**
 * Finds what a new rule would have decided on the recorded history (RK-5). Calls whose parameters were deleted are not
 * counted. Yields to other requests, because some calls take long to judge.
 */
export async function backtest(
  store: Store,
  about: { userId: string; file: PolicyFile; rules: readonly PolicyRule[]; since: number | undefined },
): Promise<Backtest> {
  const { userId, file, rules, since } = about;
  const trial = new Trial(file, rules);
  let cursor: { createdAt: number; id: string } | undefined;
  let lastYield = performance.now();
  for (let seen = 0; seen < MAX_CALLS; seen += PAGE) {
    const page = { limit: PAGE, ...(since !== undefined && { since }), ...(cursor && { before: cursor }) };
    const rows = await store.read((tx) => tx.history(userId, page));
    for (const row of rows) {
      trial.consider(await recordOf(store, row));
      if (performance.now() - lastYield < YIELD_AFTER_MS) continue;
      await new Promise((resolve) => setImmediate(resolve));
      lastYield = performance.now();
    }
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) break;
    cursor = { createdAt: last.created_at, id: last.id };
  }
  return trial.found;
}

interface CallRecord {
  readonly row: ExecutionRow;
  readonly payload: PayloadRow | undefined;
  readonly approval: ApprovalRow | undefined;
  readonly workspace: string | null;
}

const recordOf = (store: Store, row: ExecutionRow): Promise<CallRecord> =>
  store.read(function* (tx) {
    return {
      row,
      payload: yield* tx.get('payloads', row.id),
      approval: row.approval_id === null ? undefined : yield* tx.get('approvals', row.approval_id),
      workspace: (yield* tx.get('projects', row.project_id))?.workspace ?? null,
    };
  });

/** Compares the current policy with the one that has the new rules. */
class Trial {
  readonly found: Backtest = {
    considered: 0,
    matched: 0,
    would_change: 0,
    approved_before: 0,
    rejected_before: 0,
    examples: [],
  };
  readonly #rules: readonly CompiledRule[];
  readonly #before: LoadedPolicy;
  readonly #after: LoadedPolicy;
  readonly #byRoot = new Map<string, { before: ToolCallPolicy; after: ToolCallPolicy }>();

  constructor(file: PolicyFile, given: readonly PolicyRule[]) {
    // Rules that a card offers share an id, because none of them is saved yet.
    const rules = given.length < 2 ? given : given.map((rule, i) => ({ ...rule, id: `${rule.id}-${i + 1}` }));
    this.#rules = rules.map((rule) => {
      const compiled = compileRule(rule, 'person');
      if (typeof compiled === 'string') throw new Refusal('POLICY_INVALID', { problem: compiled });
      return compiled;
    });
    this.#before = load(file);
    // Replaces a rule with the same id, as saving it would.
    const ids = new Set(rules.map(({ id }) => id));
    this.#after = load({ ...file, rules: [...file.rules.filter(({ id }) => !ids.has(id)), ...rules] });
  }

  consider({ row, payload, approval, workspace }: CallRecord): void {
    if (!payload) return;
    this.found.considered += 1;
    const policies = this.#policiesIn(workspace ?? '/workspace');
    const decision = policies.after.decide(row.tool_name, payload.params);
    const { call, details } = decision;
    if (!call || !details) return;
    // A rule may cover some commands of a line, and others the rest (RK-5).
    const { allowedBy, allowedWith = [] } = decision;
    const needed = new Set([allowedBy, ...allowedWith].map((rule) => rule?.id));
    if (!this.#rules.some((tried) => needed.has(tried.rule.id) || tried.matches(call, details))) return;
    this.found.matched += 1;
    if (row.status === 'rejected') this.found.rejected_before += 1;
    else if (row.approved_by === 'user') this.found.approved_before += 1;
    const before = outcomeText(policies.before.decide(row.tool_name, payload.params));
    const after = outcomeText(decision);
    if (before === after) return;
    this.found.would_change += 1;
    if (this.found.examples.length === MAX_EXAMPLES) return;
    this.found.examples.push({ tool_id: row.id, description: describe(row, approval), before, after });
  }

  #policiesIn(root: string): { before: ToolCallPolicy; after: ToolCallPolicy } {
    const known = this.#byRoot.get(root);
    if (known) return known;
    const made = {
      before: new ToolCallPolicy({ root, policies: [this.#before] }),
      after: new ToolCallPolicy({ root, policies: [this.#after] }),
    };
    this.#byRoot.set(root, made);
    return made;
  }
}

function load(file: PolicyFile): LoadedPolicy {
  const reading = readPolicyFile(JSON.stringify(file), 'person');
  if (!reading.ok) throw new Refusal('POLICY_INVALID', { problem: reading.problem });
  return reading.policy;
}

/** Says to a person what happens to a call. */
function outcomeText({ verdict, allowedBy }: ReturnType<ToolCallPolicy['decide']>): string {
  if (isRefused(verdict)) return 'denied';
  if (allowedBy || verdict.decision === 'LOW') return 'runs without asking';
  return `asks (${verdict.decision})`;
}

const describe = (row: ExecutionRow, approval: ApprovalRow | undefined): string =>
  describeCall(approval?.agent ?? 'Agent', row.tool_name, row.tool_params as JsonObject);
