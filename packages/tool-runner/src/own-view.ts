import { isRefused, type PolicyDecision } from '@countersign/policy';
import {
  boundedReasons,
  CountersignError,
  describeCall,
  describeError,
  type ErrorCode,
  findTool,
  higherRisk,
  makeVisible,
  maxRefusalText,
  messageOf,
  type Preview,
  type Reason,
} from '@countersign/protocol';
import type { RunnerClock } from './clock.ts';
import type { Logger } from './logger.ts';
import { type OwnVerdict, ownRisk } from './own-verdict.ts';
import { shownView } from './preview/call-digest.ts';
import { visibleName } from './preview/look.ts';
import type { ApprovalRequest, PreviewReport } from './runner-api.ts';
import type { CallPreviews } from './tool-handler-config.ts';

export interface OwnViewDeps {
  readonly decide: OwnVerdict['decide'];
  readonly previews: CallPreviews;
  /** Sensitive files of the workspace that an approved command can read (VA-2). */
  readonly readableSecrets: () => readonly string[];
  readonly clock: RunnerClock;
  readonly logger: Logger;
}

type RefusedPreview = Extract<PreviewReport, { readonly refused: unknown }>;

/** This machine's own verdict on a call and its preview, or its refusal. */
export type OwnView =
  | RefusedPreview
  | {
      readonly decision: PolicyDecision;
      readonly preview: Preview;
      /** The base of the digest (see `digestOf`). */
      readonly base: string;
      readonly reasons: Reason[];
    };

/** Longer agent names are cut, so that a name cannot put whole sentences on a card. */
const MAX_AGENT_NAME = 40;
/** How many sensitive files a card names. */
const MAX_NAMED_SECRETS = 5;
/** How many of the verdict's reasons come before the sensitive files. */
const FIRST_REASONS = 20;
/** How often a preview is tried while the workspace keeps changing. */
const MAX_TRIES = 3;
/** How long making a preview may take: a network disk may never answer, and nobody can decide without the preview. */
const MAX_PREVIEW_MS = 60_000;

/**
 * Assesses and previews the call. Never throws: a preview that fails or takes too long becomes a refusal, which ends the
 * call with its reason (AP-7).
 */
export async function makeOwnView(request: ApprovalRequest, deps: OwnViewDeps): Promise<OwnView> {
  const { tool_id: call, approval_id: approval, tool_name, revision } = request;
  const late = Promise.withResolvers<never>();
  const stopTimer = deps.clock.after(MAX_PREVIEW_MS, () => {
    const problem = `making the preview took more than ${MAX_PREVIEW_MS / 1000} s`;
    late.reject(new CountersignError('PREVIEW_FAILED', { problem }));
  });
  try {
    return await Promise.race([viewUntilStable(request, deps), late.promise]);
  } catch (error) {
    deps.logger.error(`Preview failed: ${tool_name}`, { call, approval, error });
    return failedPreview(revision, error);
  } finally {
    stopTimer();
  }
}

async function viewUntilStable(request: ApprovalRequest, deps: OwnViewDeps): Promise<OwnView> {
  for (let times = 1; ; times += 1) {
    try {
      return await viewOnce(request, deps);
    } catch (error) {
      // Something changed between assessment and preview: start again with the current state.
      const isChanged = error instanceof CountersignError && error.code === 'APPROVAL_STALE';
      if (!isChanged || times === MAX_TRIES) throw error;
    }
  }
}

async function viewOnce(request: ApprovalRequest, deps: OwnViewDeps): Promise<OwnView> {
  const { revision, tool_name, tool_params, path_rules } = request;
  const decision = deps.decide(tool_name, tool_params, path_rules);
  const { verdict, call } = decision;
  if (isRefused(verdict)) {
    const reasons = boundedReasons(verdict.reasons);
    return { revision, reasons, refused: refusalOf(verdict.code, verdict.message) };
  }
  if (!call) throw new CountersignError('UNKNOWN_TOOL', { tool: tool_name, known: '' });
  const { preview, base } = await deps.previews.preview(call, decision);
  // Insert the sensitive files early, because boundedReasons cuts the end of a long list.
  const reasons = verdict.reasons.toSpliced(FIRST_REASONS, 0, ...secretReasons(tool_name, deps));
  return { decision, preview, base, reasons: boundedReasons(reasons) };
}

/** VA-2: an approved program may read the workspace's own .env, and its card says so. */
function secretReasons(tool: string, { readableSecrets }: OwnViewDeps): Reason[] {
  const category = findTool(tool)?.category;
  if (category !== 'command' && category !== 'shell') return [];
  const found = readableSecrets();
  if (found.length === 0) return [];
  const named = found.slice(0, MAX_NAMED_SECRETS).map(visibleName).join(', ');
  const operand = found.length > MAX_NAMED_SECRETS ? `${named}, …` : named;
  return [{ rule: 'SENS-8', why: 'could read secrets', operand }];
}

/** The request body that sends the view to the server (AP-7, VA-8). */
export function previewReportOf(request: ApprovalRequest, view: OwnView): PreviewReport {
  if ('refused' in view) return view;
  const { decision, preview, base: digest_base, reasons } = view;
  const { digest } = shownView(request, decision, view);
  const network = !isRefused(decision.verdict) && decision.verdict.network;
  const risk_level = ownRisk(decision);
  return { revision: request.revision, reasons, preview, digest_base, digest, risk_level, network };
}

/**
 * The request as this machine's card shows it: drawn from this machine's own preview, not the server's (RN-2). A call
 * that is refused here gets no digest, so it cannot be approved.
 */
export function cardOf(request: ApprovalRequest, found: PreviewReport): ApprovalRequest {
  const { agent, tool_name, tool_params } = request;
  const { omitted: _, ...kept } = request;
  const shownPreview = 'refused' in found ? null : found.preview;
  const name = agent.slice(0, MAX_AGENT_NAME).trim();
  const description = describeCall(name, tool_name, tool_params, shownPreview);
  const card = { ...kept, description, reasons: [...found.reasons] };
  if ('refused' in found) {
    const preview = { kind: 'unavailable', reason: makeVisible(found.refused.message) } as const;
    return { ...card, risk_level: 'HIGH', network: false, preview, digest: null, digest_base: null };
  }
  const { preview, digest_base, digest = null, network } = found;
  const risk_level = higherRisk(found.risk_level, request.risk_level);
  if (risk_level !== found.risk_level)
    card.reasons.push({ rule: 'SERVER-1', why: `the server takes it for ${risk_level}` });
  return { ...card, risk_level, network, preview, digest, digest_base };
}

/** The request body for a preview that failed or that the server refused. */
export function failedPreview(revision: number, error: unknown): RefusedPreview {
  const { code, message } =
    error instanceof CountersignError
      ? error
      : describeError('PREVIEW_FAILED', { problem: messageOf(error) });
  return { revision, reasons: [], refused: refusalOf(code, message) };
}

const refusalOf = (code: ErrorCode, message: string) => ({
  code,
  message: message.length <= maxRefusalText ? message : `${message.slice(0, maxRefusalText - 1)}…`,
});
