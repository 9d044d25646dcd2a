import { useLanguage } from '../words/words.ts';

export interface PlotArea {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  /** Height including the axis below. */
  readonly total: number;
}

/** The drawing area of a plot of this width, inside its axes. */
export const plotArea = (width: number): PlotArea => ({
  left: 52,
  top: 10,
  width: Math.max(60, width - 64),
  height: 150,
  total: 186,
});

interface ValueAxisProps {
  readonly area: PlotArea;
  readonly max: number;
  format(value: number): string;
}

export function ValueAxis({ area, max, format }: ValueAxisProps) {
  return (
    <g>
      {[0, 0.5, 1].map((share) => {
        const y = area.top + area.height * (1 - share);
        return (
          <g key={share}>
            <line x1={area.left} x2={area.left + area.width} y1={y} y2={y} className="grid-line" />
            <text x={area.left - 8} y={y + 4} textAnchor="end" className="axis-name">
              {format(max * share)}
            </text>
          </g>
        );
      })}
    </g>
  );
}

interface TimeAxisProps {
  readonly area: PlotArea;
  readonly from: number;
  readonly to: number;
}

/** Day and time of one point of a plot. */
export const timeFormat = (language: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short', ...hour });

const hour = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
const dayMs = 24 * 3600 * 1000;

export function TimeAxis({ area, from, to }: TimeAxisProps) {
  const language = useLanguage();
  const isLong = to - from > 2 * dayMs;
  const format = new Intl.DateTimeFormat(language, isLong ? { day: 'numeric', month: 'short' } : hour);
  // For a range over midnight, show the day at both ends.
  const isOfOneDay = new Date(from).toDateString() === new Date(to).toDateString();
  const atEnds =
    isLong || isOfOneDay ? format : new Intl.DateTimeFormat(language, { weekday: 'short', ...hour });
  const ticks = Math.max(2, Math.min(7, Math.floor(area.width / 110)));
  return (
    <g>
      {Array.from({ length: ticks }, (_, index) => {
        const share = index / (ticks - 1);
        const anchor = index === 0 ? 'start' : index === ticks - 1 ? 'end' : 'middle';
        return (
          <text
            // biome-ignore lint/suspicious/noArrayIndexKey: ticks have no other name
            key={index}
            x={area.left + share * area.width}
            y={area.top + area.height + 20}
            textAnchor={anchor}
            className="axis-name"
          >
            {(anchor === 'middle' ? format : atEnds).format(from + share * (to - from))}
          </text>
        );
      })}
    </g>
  );
}
