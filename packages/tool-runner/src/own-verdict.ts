import { closeSync, constants, existsSync, fstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type CustomTools,
  type LoadedPolicy,
  type PolicyDecision,
  type PolicyOwner,
  readPolicyFile,
  ToolCallPolicy,
} from '@countersign/policy';
import {
  describeError,
  findTool,
  higherRisk,
  type PolicyRule,
  type Reason,
  type RiskLevel,
} from '@countersign/protocol';
import { openInside } from './open-inside.ts';
import { MAX_SETTINGS_BYTES, type PersonsFile, readPersonsFile } from './persons-file.ts';
import { realDisk } from './real-disk.ts';
import type { Workspace } from './workspace.ts';

/** Where a workspace keeps its own rules. They can only tighten (RK-5). */
const WORKSPACE_POLICY = '.countersign/policy.json';

export interface OwnVerdictOptions {
  readonly workspace: Workspace;
  /** The person's, where `policy.json` may stand. */
  readonly configFolder: string;
  /** Whether programs run isolated here; where not, LOW ones ask instead of running (RN-5). Asked when it matters. */
  readonly isIsolated: () => boolean;
  /** Whether a LOW command can be kept from files that have names outside the workspace (VA-1). */
  readonly canHideLinks?: () => boolean;
  /** This machine's own custom tools; what the server says about them is ignored (VA-8). */
  readonly customTools?: CustomTools & { startsProcess(tool: string): boolean };
}

/**
 * This machine's own decision on a call, with the real disk and the policy files of person and workspace (VA-8).
 * The files are read for each decision: what a person saves counts at once. A file that cannot be believed may have
 * denied the call, so everything is refused until it is corrected.
 */
export class OwnVerdict {
  readonly #options: OwnVerdictOptions;
  /** The policy made from these texts; nearly always they are those of the call before. */
  #made: { readonly texts: string; readonly policy: ToolCallPolicy } | undefined;

  constructor(options: OwnVerdictOptions) {
    this.#options = options;
  }

  /** `added`: rules of the person's policy at the server, which saw the call's text only (VA-8). */
  decide(tool: unknown, params: unknown, added: readonly PolicyRule[] = []): PolicyDecision {
    const { root } = this.#options.workspace;
    if (!existsSync(root)) return refusedWith('WORKSPACE_GONE', { path: root });
    const policy = this.#policy(added);
    if (typeof policy === 'string') return refusedWith('POLICY_INVALID', { problem: policy });
    return this.#askUnlessConfined(policy.decide(tool, params));
  }

  /** The sensitive files that the person's own policy lifts (RK-5). */
  liftedSensitivePaths(): ReadonlySet<string> {
    const { workspace, configFolder } = this.#options;
    const file = readPersonsFile(join(configFolder, 'policy.json'), workspace.root);
    const reading = file.state === 'read' ? readPolicyFile(file.text, 'person') : undefined;
    return new Set(reading?.ok ? reading.policy.file.sensitive_paths : []);
  }

  /** The policy as the files say it now, or what is wrong with them. */
  #policy(added: readonly PolicyRule[]): ToolCallPolicy | string {
    const { workspace, configFolder, customTools } = this.#options;
    const { root, home, limits } = workspace;
    const sources: [PolicyOwner, PersonsFile][] = [
      ['person', readPersonsFile(join(configFolder, 'policy.json'), root)],
      ['workspace', readWorkspacePolicy(root)],
    ];
    const texts = JSON.stringify([sources, added]);
    if (this.#made?.texts === texts) return this.#made.policy;
    const policies: LoadedPolicy[] = [];
    for (const [owner, file] of sources) {
      if (file.state === 'missing') continue;
      if (file.state === 'refused') return file.problem;
      const reading = readPolicyFile(file.text, owner);
      if (!reading.ok) return `the ${owner}'s policy.json: ${reading.problem}`;
      policies.push(reading.policy);
    }
    if (added.length > 0) {
      // The server's rules may only make this machine stricter: do not trust a server that sends an allow rule.
      const loose = added.find(({ effect }) => effect === 'allow');
      if (loose)
        return `your policy at the server: rule ${loose.id} allows, which this machine asks nobody for`;
      const reading = readPolicyFile(JSON.stringify({ version: 1, rules: added }), 'person');
      if (!reading.ok) return `your policy at the server: ${reading.problem}`;
      policies.push(reading.policy);
    }
    const policy = new ToolCallPolicy({
      root,
      home,
      limits,
      disk: realDisk,
      policies,
      ...(customTools && { customTools }),
    });
    this.#made = { texts, policy };
    return policy;
  }

  /** LOW rests on confinement: without it, a program is asked about (RN-5). */
  #askUnlessConfined(decision: PolicyDecision): PolicyDecision {
    const { verdict, call } = decision;
    if (verdict.decision !== 'LOW' || !call) return decision;
    const reason = this.#whyNotConfined(call.tool);
    if (!reason) return decision;
    return {
      ...decision,
      allowedBy: undefined,
      verdict: { ...verdict, decision: 'MEDIUM', reasons: [...verdict.reasons, reason] },
    };
  }

  #whyNotConfined(tool: string): Reason | undefined {
    const { customTools, isIsolated, canHideLinks } = this.#options;
    if (!startsProcess(tool) && !customTools?.startsProcess(tool)) return undefined;
    if (!isIsolated())
      return { rule: 'ISO-1', why: 'this machine cannot isolate programs, so each one is asked about' };
    if (findTool(tool)?.category !== 'command' || !canHideLinks || canHideLinks()) return undefined;
    const why =
      'very many files of the workspace have several names (hard links), so it may show files outside the workspace';
    return { rule: 'ISO-2', why };
  }
}

/** Tools whose work another program does. Searching does not count: that program is ours, and reads only. */
function startsProcess(tool: string): boolean {
  const category = findTool(tool)?.category;
  return category === 'command' || category === 'git' || category === 'lsp';
}

/** How risky a call is here: an allow rule of the person's answers in their place, it does not make it harmless. */
export function ownRisk({ verdict, assessed, allowedBy }: PolicyDecision): RiskLevel {
  const asked: RiskLevel = verdict.decision === 'REJECT' ? 'HIGH' : verdict.decision;
  return allowedBy ? higherRisk(asked, assessed?.decision ?? 'LOW') : asked;
}

function readWorkspacePolicy(root: string): PersonsFile {
  let descriptor: number;
  try {
    descriptor = openInside(root, WORKSPACE_POLICY, constants.O_RDONLY);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { state: 'missing' };
    return { state: 'refused', problem: `${WORKSPACE_POLICY}: ${message}` };
  }
  try {
    if (fstatSync(descriptor).size > MAX_SETTINGS_BYTES)
      return { state: 'refused', problem: `${WORKSPACE_POLICY} has more than ${MAX_SETTINGS_BYTES} bytes` };
    return { state: 'read', text: readFileSync(descriptor, 'utf8') };
  } catch (error) {
    return { state: 'refused', problem: `${WORKSPACE_POLICY}: ${(error as Error).message}` };
  } finally {
    closeSync(descriptor);
  }
}

/** Before any rule is asked: nothing can be decided. */
function refusedWith(
  reason: 'POLICY_INVALID' | 'WORKSPACE_GONE',
  values: Record<string, string>,
): PolicyDecision {
  const { code, message } = describeError(reason, values);
  const verdict = {
    decision: 'REJECT',
    code,
    message,
    reasons: [{ rule: reason === 'POLICY_INVALID' ? 'POLICY-1' : 'WORKSPACE-1', why: message }],
  } as const;
  return { verdict, assessed: undefined, allowedBy: undefined, call: undefined, details: undefined };
}
