import { amount, comparisonText, exceedsLimit, missesPromise, type Results, type Row } from './results.ts';

const width = 1180;
const margin = 24;
const line = 22;
/** Distance between two lines of one remark. */
const remarkLine = 16;
const nameWidth = 380;
const barWidth = 260;
const barX = margin + nameWidth + 12;
const valueX = barX + barWidth + 12;
const noteX = valueX + 92;
/** Maximum characters in a line of a remark. */
const remarkWidth = 54;

/**
 * Draws the results as a picture that works in any page, light or dark. Bars of one bench and unit share a scale: the
 * longest fills the width. The thin line is the spread, p10 to p90, and the short line across it is our promise.
 */
export function drawResults({ benches, machine, at, quick }: Results): string {
  const parts: string[] = [];
  let y = margin + 26;
  parts.push(text(margin, y, 'title', 'Countersign, measured'));
  y += 22;
  const when = `${at.slice(0, 10)}, Node ${machine.node}, ${machine.cores} cores, ${machine.cpu}`;
  parts.push(text(margin, y, 'quiet', quick ? `${when}; a quick run, worth little` : when));
  for (const { name, rows } of benches) {
    y += 40;
    parts.push(text(margin, y, 'bench', name));
    for (const row of rows) {
      y += line;
      const remark = remarkOf(row);
      const alike = rows.filter(({ unit }) => unit === row.unit);
      const longest = Math.max(...alike.map(({ p90, limit = 0 }) => Math.max(p90, limit)));
      parts.push(drawRow(row, y, longest));
      for (const [at, words] of remark.entries())
        parts.push(text(noteX, y + at * remarkLine, 'quiet', words));
      y += Math.max(0, remark.length - 1) * remarkLine;
    }
  }
  const height = y + margin;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">
<title>Countersign, measured on ${escaped(at.slice(0, 10))}</title>
<style>
${style}
</style>
<rect class="page" width="100%" height="100%" rx="8"/>
${parts.join('\n')}
</svg>
`;
}

const style = `.page { fill: #ffffff } text { font: 13px ui-sans-serif, system-ui, sans-serif; fill: #1f2430 }
.title { font-size: 20px; font-weight: 600 } .bench { font-weight: 600 } .quiet { fill: #5b6472 } .value { font-variant-numeric: tabular-nums }
.bar { fill: #8fb3e8 } .ours { fill: #2f6fd0 } .bad { fill: #c0392b } .spread, .limit { stroke: #1f2430; stroke-width: 1.5 } .limit { stroke-dasharray: 3 2 }
@media (prefers-color-scheme: dark) {
.page { fill: #171b24 } text { fill: #e6e9ef } .quiet { fill: #9aa3b2 }
.bar { fill: #46608a } .ours { fill: #6ea6ff } .bad { fill: #ff7b6b } .spread, .limit { stroke: #e6e9ef }
}`;

function drawRow(row: Row, y: number, longest: number): string {
  const { name, median, p10, p90, limit, unit, comparisons = [] } = row;
  const x = (value: number) => (barX + barWidth * clamped(value / longest)).toFixed(1);
  const isBad = exceedsLimit(row) || comparisons.some(missesPromise);
  const isPromised = limit !== undefined || comparisons.some(({ atLeast }) => atLeast !== undefined);
  const kind = isBad ? 'bad' : isPromised ? 'ours' : 'bar';
  const middle = y - 4.5;
  const length = (barWidth * clamped(median / longest)).toFixed(1);
  return [
    text(margin + 12, y, '', cut(name, 54)),
    `<rect class="${kind}" x="${barX}" y="${y - 11}" width="${length}" height="13" rx="2"/>`,
    `<path class="spread" d="M${x(p10)} ${middle}H${x(p90)}"/>`,
    limit === undefined ? '' : `<path class="limit" d="M${x(limit)} ${y - 14}V${y + 5}"/>`,
    text(valueX, y, isBad ? 'value bad' : 'value', amount(median, unit)),
  ]
    .filter((part) => part !== '')
    .join('\n');
}

/** Comparisons and note, uncut, in lines that fit. */
function remarkOf({ comparisons = [], note = '' }: Row): string[] {
  const lines: string[] = [];
  for (const part of [...comparisons.map(comparisonText), note]) {
    let current = '';
    for (const word of part.split(' ').filter(Boolean)) {
      if (current !== '' && current.length + 1 + word.length > remarkWidth) {
        lines.push(current);
        current = '';
      }
      current = current === '' ? word : `${current} ${word}`;
    }
    if (current !== '') lines.push(current);
  }
  return lines;
}

const clamped = (share: number): number => (Number.isFinite(share) ? Math.min(1, Math.max(0, share)) : 0);

const text = (x: number, y: number, kind: string, words: string): string =>
  words === ''
    ? ''
    : `<text${kind === '' ? '' : ` class="${kind}"`} x="${x}" y="${y}">${escaped(words)}</text>`;

/** The full name is in the JSON beside the picture. */
const cut = (words: string, most: number): string =>
  words.length > most ? `${words.slice(0, most - 1)}…` : words;

const escaped = (words: string): string =>
  words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
