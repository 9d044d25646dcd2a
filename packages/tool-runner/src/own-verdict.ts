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
  waitsForCommand,
} from '@countersign/protocol';
import { openInside } from './open-inside.ts';
import { MAX_SETTINGS_BYTES, type PersonsFile, readPersonsFile } from './persons-file.ts';
import { realDisk } from './real-disk.ts';
import type { Workspace } from './workspace.ts';

/** Where a workspace keeps its own rules. They can only tighten (RK-5). */
const WORKSPACE_POLICY = '.countersign/policy.json';

export interface OwnVerdictOptions {
  readonly workspace: Workspace;
  /** The person's configuration folder, which may contain `policy.json`. */
  readonly configFolder: string;
  /** Whether programs run isolated here. If not, the person is asked about LOW programs too (RN-5). */
  readonly isIsolated: () => boolean;
  /** Whether isolation can hide files with hard links outside the workspace from a LOW command (VA-1). */
  readonly canHideLinks?: () => boolean;
  /** This machine's own custom tools; what the server says about them is ignored (VA-8). */
  readonly customTools?: CustomTools & { startsProcess(tool: string): boolean };
}

/**
 * This machine's own decision on a call, with the real disk and the policy files of person and workspace (VA-8).
 * The files are read for each decision, so that changes count at once. An invalid or untrusted file might have denied the
 * call, so every call is refused until the file is corrected.
 */
export class OwnVerdict {
  readonly #options: OwnVerdictOptions;
  /** The last policy and the texts of the files that it was made from; the texts rarely change between calls. */
  #cached: { readonly texts: string; readonly policy: ToolCallPolicy } | undefined;

  constructor(options: OwnVerdictOptions) {
    this.#options = options;
  }

  /** `added`: rules of the person's policy at the server, which could not check them against this disk (VA-8). */
  decide(tool: unknown, params: unknown, added: readonly PolicyRule[] = []): PolicyDecision {
    const { root } = this.#options.workspace;
    if (!existsSync(root)) return refusedWith('WORKSPACE_GONE', { path: root });
    const policy = this.#policy(added);
    if (typeof policy === 'string') return refusedWith('POLICY_INVALID', { problem: policy });
    return this.#askUnlessConfined(policy.decide(tool, params));
  }

  /** The sensitive files that the person's own policy file allows (RK-5). */
  liftedSensitivePaths(): ReadonlySet<string> {
    const { workspace, configFolder } = this.#options;
    const file = readPersonsFile(join(configFolder, 'policy.json'), workspace.root);
    const reading = file.state === 'read' ? readPolicyFile(file.text, 'person') : undefined;
    return new Set(reading?.ok ? reading.policy.file.sensitive_paths : []);
  }

  /** The policy of the current files, or a text that says what is wrong with them. */
  #policy(added: readonly PolicyRule[]): ToolCallPolicy | string {
    const { workspace, configFolder, customTools } = this.#options;
    const { root, home, limits } = workspace;
    const sources: [PolicyOwner, PersonsFile][] = [
      ['person', readPersonsFile(join(configFolder, 'policy.json'), root)],
      ['workspace', readWorkspacePolicy(root)],
    ];
    const texts = JSON.stringify([sources, added]);
    if (this.#cached?.texts === texts) return this.#cached.policy;
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
    this.#cached = { texts, policy };
    return policy;
  }

  /** Raises a LOW call to MEDIUM if its program cannot be confined (RN-5). */
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
    if (!waitsForCommand(tool) || !canHideLinks || canHideLinks()) return undefined;
    const why =
      'very many files of the workspace have several names (hard links), so it may show files outside the workspace';
    return { rule: 'ISO-2', why };
  }
}

/** Whether the tool starts a program. Searching does not count, because its program is our own and only reads. */
function startsProcess(tool: string): boolean {
  const category = findTool(tool)?.category;
  return waitsForCommand(tool) || category === 'git' || category === 'lsp';
}

/** The risk of a call on this machine. An allow rule replaces the person's approval, but does not lower the risk. */
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

/** A refusal before any rule is evaluated. */
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
