import type {
  EventData,
  ModelCallEnd,
  ModelCallPlace,
  RunEnd,
  RunObserver,
  RunPlace,
} from '@countersign/engine';
import { type Context, context, type Span, SpanStatusCode, trace } from '@opentelemetry/api';
import { type CallObserver, OpenItems } from './call-watcher.ts';

/**
 * OpenTelemetry spans (OB-1). Uses only the OpenTelemetry API, so without an SDK in the process they cost nothing.
 *
 * | span | from → to | attributes |
 * | --- | --- | --- |
 * | `countersign.run` | taken by this node → ended or let go | run.id, run.end, session.id, project.id |
 * | `countersign.model_call` | asked → answered | run.id, run.step, model, tokens.input, tokens.output, tool_calls |
 * | `countersign.tool_call` | recorded → final state | tool.id, tool.name, tool.risk, tool.status, session.id, project.id, run.id, error.code |
 * | `countersign.approval_wait` | asked → decided | approval.id, approval.status, tool.id, tool.name, tool.risk |
 *
 * A wait is a child of its call. Calls and model calls are children of their run, if this node drives it.
 */
export class Spans implements CallObserver, RunObserver {
  readonly #tracer = trace.getTracer('countersign');
  readonly #runs = new OpenItems<Span>();
  readonly #calls = new OpenItems<Span>();
  readonly #waits = new OpenItems<Span>();

  called(call: EventData<'tool.call'>): void {
    const attributes = {
      'tool.id': call.tool_id,
      'tool.name': call.tool_name,
      'tool.risk': call.risk_level ?? 'REJECT',
      'session.id': call.session_id,
      'project.id': call.project_id,
      ...(call.context.run_id !== null && { 'run.id': call.context.run_id }),
    };
    const run = call.context.run_id === null ? undefined : this.#runs.get(call.context.run_id);
    const span = this.#tracer.startSpan('countersign.tool_call', { attributes }, childOf(run));
    if (span.isRecording()) this.#calls.begin(call.tool_id, span);
  }

  asked(approval: EventData<'tool.approval_request'>): void {
    const attributes = {
      'approval.id': approval.approval_id,
      'tool.id': approval.tool_id,
      'tool.name': approval.tool_name,
      'tool.risk': approval.risk_level,
    };
    const call = this.#calls.get(approval.tool_id);
    const span = this.#tracer.startSpan('countersign.approval_wait', { attributes }, childOf(call));
    if (span.isRecording()) this.#waits.begin(approval.approval_id, span);
  }

  decided({ approval_id, status }: EventData<'approval.resolved'>): void {
    this.#waits.end(approval_id)?.setAttribute('approval.status', status).end();
  }

  ended(result: EventData<'tool.result'>): void {
    const span = this.#calls.end(result.tool_id);
    if (!span) return;
    span.setAttribute('tool.status', result.status);
    if (result.error) {
      span.setAttribute('error.code', result.error.code);
      span.setStatus({ code: SpanStatusCode.ERROR, message: result.error.code });
    }
    span.end();
  }

  drives({ runId, sessionId, projectId }: RunPlace): (end: RunEnd) => void {
    const attributes = { 'run.id': runId, 'session.id': sessionId, 'project.id': projectId };
    const span = this.#tracer.startSpan('countersign.run', { attributes });
    if (span.isRecording()) this.#runs.begin(runId, span);
    return (end) => {
      if (this.#runs.get(runId) === span) this.#runs.end(runId);
      if (typeof end === 'string') span.setAttribute('run.end', end);
      else fail(span, end.error);
      span.end();
    };
  }

  asksModel({ runId, step, model }: ModelCallPlace): (end: ModelCallEnd) => void {
    const attributes = { 'run.id': runId, 'run.step': step, model };
    const span = this.#tracer.startSpan(
      'countersign.model_call',
      { attributes },
      childOf(this.#runs.get(runId)),
    );
    return (end) => {
      if ('error' in end) fail(span, end.error);
      else {
        span.setAttribute('tokens.input', end.inputTokens);
        span.setAttribute('tokens.output', end.outputTokens);
        span.setAttribute('tool_calls', end.toolCalls);
      }
      span.end();
    };
  }
}

const childOf = (span: Span | undefined): Context | undefined =>
  span && trace.setSpan(context.active(), span);

/** Records only the error's name: its message may quote the conversation. */
function fail(span: Span, error: unknown): void {
  const message = error instanceof Error ? error.name : 'unknown';
  span.setStatus({ code: SpanStatusCode.ERROR, message });
}
