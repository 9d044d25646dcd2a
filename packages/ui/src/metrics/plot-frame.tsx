import type { ReactNode } from 'react';
import { useWords } from '../words/words.ts';

export interface PlotTable {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

interface PlotFrameProps {
  readonly title: string;
  readonly legend: readonly { readonly name: string; readonly className: string }[];
  /** The numbers of the plot, for people who cannot see it. */
  readonly table: PlotTable;
  readonly children: ReactNode;
}

/** A plot with its title and legend, and its numbers as a table below. */
export function PlotFrame({ title, legend, table, children }: PlotFrameProps) {
  const { metrics } = useWords();
  return (
    <figure className="plot panel">
      <figcaption>
        <h2>{title}</h2>
        <ul className="legend">
          {legend.map(({ name, className }) => (
            <li key={name}>
              <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true" className={className}>
                <rect width="12" height="12" rx="2" />
              </svg>
              {name}
            </li>
          ))}
        </ul>
      </figcaption>
      {children}
      <details className="raw">
        <summary>{metrics.table}</summary>
        <div className="table-box">
          <table className="table">
            <thead>
              <tr>
                {table.head.map((name) => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {table.rows.map(([name, ...values]) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  {values.map((value, index) => (
                    <td key={table.head[index + 1]} className="number">
                      {value}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  );
}
