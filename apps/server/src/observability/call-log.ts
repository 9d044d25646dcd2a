import type { SecretMasker } from '@countersign/policy';
import type { Logger } from 'pino';
import type { CallObserver } from './call-watcher.ts';

/** The steps of each call in the log (OB-2): info says what happened, debug adds the arguments, masked. */
export class CallLog implements CallObserver {
  readonly #log: Logger;
  readonly #masker: SecretMasker;

  constructor(log: Logger, masker: SecretMasker) {
    this.#log = log;
    this.#masker = masker;
  }

  called(call: Parameters<NonNullable<CallObserver['called']>>[0]): void {
    if (!this.#log.isLevelEnabled('debug')) return;
    const { tool_id, tool_name: tool, risk_level: risk, session_id: session, context } = call;
    const args = this.#masker.maskValue(call.tool_params);
    this.#log.debug({ call: tool_id, tool, risk, session, run: context.run_id, args }, 'tool call');
  }

  asked({
    tool_id,
    tool_name: tool,
    approval_id: approval,
    risk_level: risk,
    timeout_seconds,
  }: Parameters<NonNullable<CallObserver['asked']>>[0]): void {
    this.#log.info({ call: tool_id, tool, approval, risk, timeout_seconds }, 'tool approval request');
  }

  decided({
    tool_id,
    approval_id: approval,
    status,
    device,
  }: Parameters<NonNullable<CallObserver['decided']>>[0]): void {
    this.#log.info({ call: tool_id, approval, status, device }, 'tool approval decided');
  }

  signalled({
    tool_id,
    tool_name: tool,
    runner_id: runner,
    attempt,
    approved_by,
  }: Parameters<NonNullable<CallObserver['signalled']>>[0]): void {
    this.#log.debug({ call: tool_id, tool, runner, attempt, approved_by }, 'tool execution signal');
  }

  ended({
    tool_id,
    tool_name: tool,
    status,
    error,
    execution_time_ms: ms,
  }: Parameters<NonNullable<CallObserver['ended']>>[0]): void {
    if (error && status === 'failed')
      this.#log.error({ call: tool_id, tool, status, error: error.code, ms }, 'tool call failed');
    else this.#log.info({ call: tool_id, tool, status, ms }, 'tool call ended');
  }
}
