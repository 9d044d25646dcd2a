import { duration } from '../text/duration.ts';
import { useLanguage, useWords } from '../words/words.ts';
import { plotArea, TimeAxis, timeFormat, ValueAxis } from './axes.tsx';
import { PlotFrame } from './plot-frame.tsx';
import { type Line, linesOf, type MetricsResponse, niceMax } from './series.ts';
import { useWidth } from './use-width.ts';

interface TimeLinesProps {
  readonly response: MetricsResponse;
  readonly now: number;
  readonly what: 'waiting' | 'latency';
}

const fields = {
  waiting: { line: 'avg_approval_wait_ms', p50: 'p50_approval_wait_ms', p95: 'p95_approval_wait_ms' },
  latency: { line: 'avg_execution_time_ms', p50: 'p50_execution_time_ms', p95: 'p95_execution_time_ms' },
} as const;

/** How long people took to decide, or tools to run, over time; the table has the percentiles of each tool. */
export function TimeLines({ response, now, what }: TimeLinesProps) {
  const words = useWords();
  const { metrics } = words;
  const language = useLanguage();
  const [box, width] = useWidth<HTMLDivElement>();
  const field = fields[what];
  const lines = linesOf(response, field.line);
  const max = niceMax(Math.max(0, ...lines.flatMap(({ points }) => points.map(({ ms }) => ms))));
  const area = plotArea(width);
  const from = Math.min(
    Date.parse(response.since),
    ...lines.flatMap(({ points }) => points.map(({ at }) => at)),
  );
  const x = (at: number) => area.left + ((at - from) / Math.max(1, now - from)) * area.width;
  const y = (ms: number) => area.top + area.height - (ms / max) * area.height;
  const time = (ms: number | null) => (ms === null ? '' : duration(ms, words));
  const stamp = timeFormat(language);
  return (
    <PlotFrame
      title={metrics[what]}
      legend={lines.map(({ name }, index) => ({ name, className: `line-${index}` }))}
      table={{
        head: [metrics.tool, metrics.average, metrics.median, metrics.p95],
        rows: response.tools
          .filter((tool) => tool[field.line] !== null)
          .map((tool) => [
            tool.tool_name,
            time(tool[field.line]),
            time(tool[field.p50]),
            time(tool[field.p95]),
          ]),
      }}
    >
      <div ref={box}>
        {lines.length === 0 ? (
          <p className="empty-line">{metrics.empty}</p>
        ) : (
          <svg width={width} height={area.total} role="img" aria-label={metrics[what]}>
            <ValueAxis area={area} max={max} format={(ms) => duration(ms, words)} />
            <TimeAxis area={area} from={from} to={now} />
            {lines.map((line, index) => (
              <g key={line.name} className={`line-${index}`}>
                <path d={pathOf(line, x, y)} className="line" />
                {line.points.map(({ at, ms }) => (
                  <Dot
                    key={at}
                    shape={index}
                    x={x(at)}
                    y={y(ms)}
                    title={`${line.name}, ${stamp.format(at)}: ${time(ms)}`}
                  />
                ))}
              </g>
            ))}
          </svg>
        )}
      </div>
    </PlotFrame>
  );
}

const pathOf = ({ points }: Line, x: (at: number) => number, y: (ms: number) => number): string =>
  points
    .map(({ at, ms }, index) => `${index === 0 ? 'M' : 'L'}${x(at).toFixed(1)} ${y(ms).toFixed(1)}`)
    .join('');

interface DotProps {
  readonly shape: number;
  readonly x: number;
  readonly y: number;
  readonly title: string;
}

/** A point of a line. Each line has its own shape, so that colour is not the only difference. */
function Dot({ shape, x, y, title }: DotProps) {
  const shapes = ['M-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0', 'M-3-3h6v6h-6z', 'M0-4L4 3H-4z', 'M0-4L4 0L0 4L-4 0z'];
  return (
    <path
      d={shapes[shape] ?? ''}
      transform={`translate(${x.toFixed(1)} ${y.toFixed(1)})`}
      className="dot-mark"
    >
      <title>{title}</title>
    </path>
  );
}
