import { useState } from 'react';
import { EmptyState, QueryState } from '../frame/states.tsx';
import { type Period, periods, useMetrics } from '../queries/metrics.ts';
import { duration } from '../text/duration.ts';
import { useWords } from '../words/words.ts';
import { type MetricsResponse, outcomeCounts, totalOf } from './series.ts';
import { TimeColumns } from './time-columns.tsx';
import { TimeLines } from './time-lines.tsx';
import { ToolBars } from './tool-bars.tsx';

/** Plots of how calls ended, and of how long decisions and tools took. */
export function MetricsScreen({ projectId }: { readonly projectId: string }) {
  const { metrics: names } = useWords();
  const [period, setPeriod] = useState<Period>('day');
  const metrics = useMetrics(projectId, period);
  const response = metrics.data?.response;
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
      {response && response.tools.length === 0 && <EmptyState title={names.empty} />}
      {response && metrics.data && response.tools.length > 0 && (
        <>
          <Numbers response={response} />
          <div className="plots">
            <TimeColumns response={response} now={metrics.data.now} />
            <ToolBars response={response} />
            <TimeLines response={response} now={metrics.data.now} what="waiting" />
            <TimeLines response={response} now={metrics.data.now} what="latency" />
          </div>
        </>
      )}
    </section>
  );
}

/** The totals, and the median times of the tool with the most calls. */
function Numbers({ response }: { readonly response: MetricsResponse }) {
  const words = useWords();
  const { metrics: names } = words;
  const counts = outcomeCounts(response.tools);
  const total = totalOf(counts);
  const busiest = (field: 'p50_approval_wait_ms' | 'p50_execution_time_ms') =>
    [...response.tools].sort((a, b) => b.total_calls - a.total_calls).find((tool) => tool[field] !== null)?.[
      field
    ] ?? null;
  const wait = busiest('p50_approval_wait_ms');
  const time = busiest('p50_execution_time_ms');
  const rows: [name: string, value: string | number | null][] = [
    [names.totalCalls, total],
    [names.successRate, total === 0 ? '' : `${Math.round((counts.success / total) * 100)} %`],
    [names.rejected, counts.rejected],
    [names.medianWait, wait === null ? null : duration(wait, words)],
    [names.medianTime, time === null ? null : duration(time, words)],
  ];
  return (
    <dl className="numbers">
      {rows
        .filter(([, value]) => value !== null)
        .map(([name, value]) => (
          <div key={name}>
            <dd>{value}</dd>
            <dt>{name}</dt>
          </div>
        ))}
    </dl>
  );
}
