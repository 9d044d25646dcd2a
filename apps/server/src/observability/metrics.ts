import type { Engine, EventData, Store } from '@countersign/engine';
import { findTool, isCustomToolName } from '@countersign/protocol';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { resolveWithin } from '../resolve-within.ts';
import { type CallObserver, OpenItems } from './call-watcher.ts';

const executionBuckets = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 300];
const waitBuckets = [1, 5, 15, 30, 60, 120, 300, 600];

/** Well below Prometheus' timeout for a scrape. */
const QUERY_TIMEOUT_MS = 2_000;

/** Counts and times for Prometheus (OB-1). */
export class Metrics implements CallObserver {
  readonly #registry = new Registry();
  readonly #calls: Counter<'tool'>;
  readonly #ended: Counter<'tool' | 'status'>;
  readonly #duration: Histogram<'tool'>;
  readonly #wait: Histogram<'tool' | 'status'>;
  readonly #asked = new OpenItems<{ at: number; tool: string }>();
  #engine: Engine | undefined;
  #store: Store | undefined;

  constructor() {
    const registers = [this.#registry];
    collectDefaultMetrics({ register: this.#registry });
    this.#calls = new Counter({
      name: 'countersign_tool_calls_total',
      help: 'Tool calls that were recorded.',
      labelNames: ['tool'],
      registers,
    });
    this.#ended = new Counter({
      name: 'countersign_tool_calls_ended_total',
      help: 'Tool calls that ended, by final status.',
      labelNames: ['tool', 'status'],
      registers,
    });
    this.#duration = new Histogram({
      name: 'countersign_tool_execution_seconds',
      help: 'What a tool took, as the runner says it or from its signal to its result.',
      labelNames: ['tool'],
      buckets: executionBuckets,
      registers,
    });
    this.#wait = new Histogram({
      name: 'countersign_approval_wait_seconds',
      help: 'From the request to its decision.',
      labelNames: ['tool', 'status'],
      buckets: waitBuckets,
      registers,
    });
    const gauge = (name: string, help: string, read: () => number | Promise<number>) =>
      new Gauge({
        name: `countersign_${name}`,
        help,
        registers,
        async collect() {
          this.set(await read());
        },
      });
    gauge('streams', 'Event streams that are open here.', () => this.#engine?.streams.size ?? 0);
    gauge('backlog', 'Units of writing that wait for their commit here.', () => this.#store?.backlog ?? 0);
    gauge('pending_approvals', 'Approvals that wait for a decision.', () => this.#pendingApprovals());
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Sets the sources of the gauges, which exist later than this object. */
  watch(engine: Engine, store: Store): void {
    this.#engine = engine;
    this.#store = store;
  }

  metrics(): Promise<string> {
    return this.#registry.metrics();
  }

  /** NaN ("unknown" to Prometheus) if the database does not answer, so that the other metrics are still served. */
  async #pendingApprovals(): Promise<number> {
    const counted = this.#store?.read((tx) => tx.soonestDeadlines(100_000)).then(({ length }) => length);
    if (counted === undefined) return 0;
    return (await resolveWithin(QUERY_TIMEOUT_MS, counted).catch(() => undefined)) ?? Number.NaN;
  }

  called({ tool_name }: EventData<'tool.call'>): void {
    this.#calls.inc({ tool: labelOf(tool_name) });
  }

  asked({ approval_id, tool_name }: EventData<'tool.approval_request'>): void {
    this.#asked.begin(approval_id, { at: performance.now(), tool: labelOf(tool_name) });
  }

  decided({ approval_id, status }: EventData<'approval.resolved'>): void {
    const asked = this.#asked.end(approval_id);
    if (asked) this.#wait.observe({ tool: asked.tool, status }, (performance.now() - asked.at) / 1000);
  }

  ended({ tool_name, status, execution_time_ms }: EventData<'tool.result'>): void {
    const tool = labelOf(tool_name);
    this.#ended.inc({ tool, status });
    if (execution_time_ms !== null) this.#duration.observe({ tool }, execution_time_ms / 1000);
  }
}

/** Unknown tools share one label, because each new label creates a time series, and a model may invent names. */
const labelOf = (tool: string): string =>
  findTool(tool) !== undefined ? tool : isCustomToolName(tool) ? 'custom' : 'unknown';
