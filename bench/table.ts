import { amount, comparisonText, exceedsLimit, type Results, type Row } from './results.ts';

/** The results as one table for a terminal. */
export function table({ benches, machine, quick }: Results): string {
  const header = ['', 'median', 'p10 – p90', 'per second', 'limit', 'compared'];
  const lines = benches.flatMap(({ name, rows }) => [[name], ...rows.map(cells)]);
  const widths = header.map((title, column) =>
    Math.max(
      title.length,
      ...lines.filter((line) => line.length > 1).map((line) => line[column]?.length ?? 0),
    ),
  );
  const text = [header, ...lines]
    .map((line) =>
      line
        .map((cell, column) => pad(cell, column, widths[column] ?? 0))
        .join('   ')
        .trimEnd(),
    )
    .join('\n');
  const worth = quick ? '; a quick run, worth little' : '';
  return `Node ${machine.node}, ${machine.cores} cores, ${machine.cpu}${worth}\n\n${text}`;
}

function cells(row: Row): string[] {
  const { name, median, p10, p90, limit, unit, comparisons = [], note = '' } = row;
  const verdict = limit === undefined ? '' : `${amount(limit, unit)} ${exceedsLimit(row) ? '✗' : '✓'}`;
  const rate = unit === undefined ? Math.round(1e9 / median).toLocaleString('en') : '';
  const compared = [...comparisons.map(comparisonText), note].filter((text) => text !== '').join(', ');
  const spread = `${amount(p10, unit)} – ${amount(p90, unit)}`;
  return [`  ${name}`, amount(median, unit), spread, rate, verdict, compared];
}

function pad(cell: string, column: number, width: number): string {
  return column === 0 || column === 5 ? cell.padEnd(width) : cell.padStart(width);
}
