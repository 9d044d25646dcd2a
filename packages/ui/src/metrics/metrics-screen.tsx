import { useState } from 'react';
import { EmptyState, QueryState } from '../frame/states.tsx';
import { type Period, periods, useMetrics } from '../queries/metrics.ts';
import { duration } from '../text/duration.ts';
import { useWords } from '../words/words.ts';
import { type MetricsAnswer, outcomeCounts, totalOf } from './series.ts';
import { TimeColumns } from './time-columns.tsx';
import { TimeLines } from './time-lines.tsx';
import { ToolBars } from './tool-bars.tsx';

/** Plots of what the tools did and how long people and tools took. */
export function MetricsScreen({ projectId }: { readonly projectId: string }) {
  const { metrics: names } = useWords();
  const [period, setPeriod] = useState<Period>('day');
  const metrics = useMetrics(projectId, period);
  const answer = metrics.data?.answer;
  return (
    <section className="screen" aria-labelledby="metrics-title">
      <header className="screen-head">
        <h1 id="metrics-title">{names.title}</h1>
        <fieldset className="segmented">
          <legend className="visually-hidden">{names.period}</legend>
          {periods.map((one) => (
            <button key={one} type="button" aria-pressed={period === one} onClick={() => setPeriod(one)}>
              {names[one]}
            </button>
          ))}
        </fieldset>
      </header>
      <QueryState query={metrics} />
      {answer && answer.tools.length === 0 && <EmptyState title={names.empty} />}
      {answer && metrics.data && answer.tools.length > 0 && (
        <>
          <Numbers answer={answer} />
          <div className="plots">
            <TimeColumns answer={answer} now={metrics.data.now} />
            <ToolBars answer={answer} />
            <TimeLines answer={answer} now={metrics.data.now} what="waiting" />
            <TimeLines answer={answer} now={metrics.data.now} what="latency" />
          </div>
        </>
      )}
    </section>
  );
}

/** The most important numbers. */
function Numbers({ answer }: { readonly answer: MetricsAnswer }) {
  const words = useWords();
  const { metrics: names } = words;
  const counts = outcomeCounts(answer.tools);
  const total = totalOf(counts);
  const busiest = (field: 'p50_approval_wait_ms' | 'p50_execution_time_ms') =>
    [...answer.tools].sort((a, b) => b.total_calls - a.total_calls).find((tool) => tool[field] !== null)?.[
      field
    ] ?? null;
  const wait = busiest('p50_approval_wait_ms');
  const time = busiest('p50_execution_time_ms');
  return (
    <dl className="numbers">
      <div>
        <dd>{total}</dd>
        <dt>{names.totalCalls}</dt>
      </div>
      <div>
        <dd>{total === 0 ? '' : `${Math.round((counts.success / total) * 100)} %`}</dd>
        <dt>{names.successRate}</dt>
      </div>
      <div>
        <dd>{counts.rejected}</dd>
        <dt>{names.rejected}</dt>
      </div>
      {wait !== null && (
        <div>
          <dd>{duration(wait, words)}</dd>
          <dt>{names.medianWait}</dt>
        </div>
      )}
      {time !== null && (
        <div>
          <dd>{duration(time, words)}</dd>
          <dt>{names.medianTime}</dt>
        </div>
      )}
    </dl>
  );
}
