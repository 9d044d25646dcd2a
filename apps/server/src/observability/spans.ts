import { context, type Span, SpanStatusCode, trace } from '@opentelemetry/api';
import { type CallObserver, Open } from './call-watcher.ts';

/**
 * OpenTelemetry spans (OB-1), through the API alone: without an SDK in the process they cost nothing.
 *
 * | span | from → to | attributes |
 * | --- | --- | --- |
 * | `countersign.tool_call` | recorded → final state | tool.id, tool.name, tool.risk, tool.status, session.id, project.id, run.id, error.code |
 * | `countersign.approval_wait` | asked → decided | approval.id, approval.status, tool.id, tool.name, tool.risk |
 *
 * A wait is a child of its call. Runs and model calls have spans of their own, made by the agent.
 */
export class Spans implements CallObserver {
  readonly #tracer = trace.getTracer('countersign');
  readonly #calls = new Open<Span>();
  readonly #waits = new Open<Span>();

  called(call: Parameters<NonNullable<CallObserver['called']>>[0]): void {
    if (this.#calls.get(call.tool_id)) return; // asked again: the same call
    const attributes = {
      'tool.id': call.tool_id,
      'tool.name': call.tool_name,
      'tool.risk': call.risk_level ?? 'REJECT',
      'session.id': call.session_id,
      'project.id': call.project_id,
      ...(call.context.run_id !== null && { 'run.id': call.context.run_id }),
    };
    const span = this.#tracer.startSpan('countersign.tool_call', { attributes });
    if (span.isRecording()) this.#calls.begin(call.tool_id, span);
  }

  asked(approval: Parameters<NonNullable<CallObserver['asked']>>[0]): void {
    const attributes = {
      'approval.id': approval.approval_id,
      'tool.id': approval.tool_id,
      'tool.name': approval.tool_name,
      'tool.risk': approval.risk_level,
    };
    const call = this.#calls.get(approval.tool_id);
    const parent = call && trace.setSpan(context.active(), call);
    const span = this.#tracer.startSpan('countersign.approval_wait', { attributes }, parent);
    if (span.isRecording()) this.#waits.begin(approval.approval_id, span);
  }

  decided({ approval_id, status }: Parameters<NonNullable<CallObserver['decided']>>[0]): void {
    this.#waits.end(approval_id)?.setAttribute('approval.status', status).end();
  }

  ended(result: Parameters<NonNullable<CallObserver['ended']>>[0]): void {
    const span = this.#calls.end(result.tool_id);
    if (!span) return;
    span.setAttribute('tool.status', result.status);
    if (result.error) {
      span.setAttribute('error.code', result.error.code);
      span.setStatus({ code: SpanStatusCode.ERROR, message: result.error.code });
    }
    span.end();
  }
}
