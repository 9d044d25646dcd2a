import { useWords } from '../words/words.ts';
import { PlotFrame } from './plot-frame.tsx';
import { type MetricsResponse, type OutcomeCounts, outcomeCounts, outcomes, totalOf } from './series.ts';
import { useWidth } from './use-width.ts';

const rowHeight = 28;
const nameWidth = 140;
const countWidth = 48;

/** Calls by tool and outcome: one bar for each tool. */
export function ToolBars({ response }: { readonly response: MetricsResponse }) {
  const { metrics } = useWords();
  const [box, width] = useWidth<HTMLDivElement>();
  const tools = [...response.tools]
    .sort((a, b) => b.total_calls - a.total_calls)
    .map((tool) => ({ name: tool.tool_name, counts: outcomeCounts([tool]) }));
  const most = Math.max(1, ...tools.map(({ counts }) => totalOf(counts)));
  const scale = (width - nameWidth - countWidth) / most;
  return (
    <PlotFrame
      title={metrics.calls}
      legend={outcomes.map((outcome) => ({ name: metrics[outcome], className: `fill-${outcome}` }))}
      table={{
        head: [metrics.tool, ...outcomes.map((outcome) => metrics[outcome]), metrics.total],
        rows: tools.map(({ name, counts }) => [
          name,
          ...outcomes.map((outcome) => String(counts[outcome])),
          String(totalOf(counts)),
        ]),
      }}
    >
      <div ref={box}>
        <svg width={width} height={tools.length * rowHeight + 4} role="img" aria-label={metrics.calls}>
          {tools.map(({ name, counts }, row) => (
            <g key={name} transform={`translate(0 ${row * rowHeight})`}>
              <text x={nameWidth - 10} y={18} textAnchor="end" className="axis-name">
                {name}
              </text>
              {segments(counts).map(({ outcome, start, count }) => (
                <rect
                  key={outcome}
                  x={nameWidth + start * scale}
                  y={5}
                  width={Math.max(1, count * scale - 1)}
                  height={rowHeight - 10}
                  rx={2}
                  className={`fill-${outcome}`}
                >
                  <title>{`${name}: ${count} ${metrics[outcome]}`}</title>
                </rect>
              ))}
              <text x={nameWidth + totalOf(counts) * scale + 8} y={18} className="axis-count">
                {totalOf(counts)}
              </text>
            </g>
          ))}
        </svg>
      </div>
    </PlotFrame>
  );
}

/** The parts of a bar, with the offset at which each starts. Empty parts are left out. */
export function segments(counts: OutcomeCounts) {
  let start = 0;
  return outcomes.flatMap((outcome) => {
    const count = counts[outcome];
    const segment = { outcome, start, count };
    start += count;
    return count > 0 ? [segment] : [];
  });
}
