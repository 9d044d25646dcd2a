import { useLanguage, useWords } from '../words/words.ts';
import { plotArea, TimeAxis, timeFormat, ValueAxis } from './axes.tsx';
import { PlotFrame } from './plot-frame.tsx';
import { type MetricsResponse, outcomes, plotColumns, totalOf, wholeMax } from './series.ts';
import { segments } from './tool-bars.tsx';
import { useWidth } from './use-width.ts';

/** Calls over time, by outcome: one column for each time bucket. */
export function TimeColumns({ response, now }: { readonly response: MetricsResponse; readonly now: number }) {
  const { metrics } = useWords();
  const language = useLanguage();
  const [box, width] = useWidth<HTMLDivElement>();
  const columns = plotColumns(response, now);
  const max = wholeMax(Math.max(0, ...columns.map(({ counts }) => totalOf(counts))));
  const area = plotArea(width);
  const step = area.width / Math.max(1, columns.length);
  const y = (count: number) => area.top + area.height - (count / max) * area.height;
  const first = columns[0]?.from ?? now;
  const time = timeFormat(language);
  return (
    <PlotFrame
      title={metrics.over}
      legend={outcomes.map((outcome) => ({ name: metrics[outcome], className: `fill-${outcome}` }))}
      table={{
        head: [metrics.from, ...outcomes.map((outcome) => metrics[outcome]), metrics.total],
        rows: columns
          .filter(({ counts }) => totalOf(counts) > 0)
          .map(({ from, counts }) => [
            time.format(from),
            ...outcomes.map((outcome) => String(counts[outcome])),
            String(totalOf(counts)),
          ]),
      }}
    >
      <div ref={box}>
        <svg width={width} height={area.total} role="img" aria-label={metrics.over}>
          <ValueAxis area={area} max={max} format={String} />
          <TimeAxis area={area} from={first} to={now} />
          {columns.map(({ from, counts }, index) =>
            segments(counts).map(({ outcome, start, count }) => (
              <rect
                key={`${from}${outcome}`}
                x={area.left + index * step + Math.min(1, step * 0.1)}
                y={y(start + count)}
                width={Math.max(1, step - Math.min(2, step * 0.2))}
                height={Math.max(1, y(start) - y(start + count))}
                className={`fill-${outcome}`}
              >
                <title>{`${time.format(from)}: ${count} ${metrics[outcome]}`}</title>
              </rect>
            )),
          )}
        </svg>
      </div>
    </PlotFrame>
  );
}
