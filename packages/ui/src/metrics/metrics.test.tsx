// @vitest-environment happy-dom
import { cleanup, screen, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, describe, expect, it } from 'vitest';
import { openPage, Refused, settle, TestServer } from '../page-fixture.test-data.tsx';
import { MetricsScreen } from './metrics-screen.tsx';
import {
  endOf,
  linesOf,
  type MetricsResponse,
  niceMax,
  outcomeCounts,
  plotColumns,
  wholeMax,
} from './series.ts';

afterEach(cleanup);

const tool = (tool_name: string, total: number, change: object = {}) => ({
  tool_name,
  total_calls: total,
  success_count: total - 2,
  error_count: 1,
  rejected_count: 0,
  avg_execution_time_ms: 20,
  p50_execution_time_ms: 15,
  p95_execution_time_ms: 90,
  avg_approval_wait_ms: null,
  p50_approval_wait_ms: null,
  p95_approval_wait_ms: null,
  ...change,
});

const hour = 3600 * 1000;
const now = Date.parse('2026-02-21T12:30:00Z');
const at = (hoursAgo: number) => new Date(now - hoursAgo * hour).toISOString();
const point = (tool_name: string, hoursAgo: number, change: object = {}) => {
  const {
    p50_execution_time_ms: _a,
    p95_execution_time_ms: _b,
    p50_approval_wait_ms: _c,
    p95_approval_wait_ms: _d,
    ...rest
  } = tool(tool_name, 3, change);
  return { ...rest, from: at(hoursAgo) };
};

const answer: MetricsResponse = {
  success: true,
  tools: [
    tool('read_file', 6),
    tool('edit_file', 3, {
      avg_approval_wait_ms: 4000,
      p50_approval_wait_ms: 3000,
      p95_approval_wait_ms: 9000,
    }),
  ],
  since: at(24),
  bucket_seconds: 3600,
  series: [
    point('read_file', 3.5),
    point('read_file', 1.5),
    point('edit_file', 1.5, { avg_approval_wait_ms: 4000 }),
  ],
};

describe('the numbers behind the plots', () => {
  it('count outcomes; what is none of them is other', () => {
    expect(outcomeCounts(answer.tools)).toEqual({ success: 5, error: 2, rejected: 0, other: 2 });
  });

  it('fill the plotColumns in which nothing happened', () => {
    const columns = plotColumns(answer, now);
    expect(columns).toHaveLength(25);
    expect(columns.map(({ counts }) => counts.success)).toEqual([...Array(20).fill(0), 1, 0, 2, 0, 0]);
  });

  it('have a line for each tool with times, the busiest first', () => {
    expect(linesOf(answer, 'avg_execution_time_ms').map(({ name, points }) => [name, points.length])).toEqual(
      [
        ['read_file', 2],
        ['edit_file', 1],
      ],
    );
    expect(linesOf(answer, 'avg_approval_wait_ms').map(({ name }) => name)).toEqual(['edit_file']);
  });

  it('end at a round number', () => {
    expect([0, 3, 7, 11, 450].map(niceMax)).toEqual([1, 5, 10, 20, 500]);
    expect([0, 1, 2, 3, 7, 450].map(wholeMax)).toEqual([2, 2, 2, 6, 10, 500]); // half of each is a whole number
  });
});

it('ends a plot with what the server knows, also when our clock is behind', () => {
  expect(endOf({ series: [point('read_file', 1)] }, now)).toBe(now);
  expect(endOf({ series: [point('read_file', 1), point('read_file', -48)] }, now)).toBe(now + 48 * hour);
});

describe('the screen', () => {
  const open = (metrics: object | (() => object)) => {
    const server = new TestServer();
    server.on('metrics', metrics);
    return openPage(<MetricsScreen projectId="p1" />, { server });
  };

  it('[OB-1] plots calls by tool and outcome, waiting and execution time, with a table behind each', async () => {
    await open(answer);
    expect(screen.getAllByRole('img').map((plot) => plot.getAttribute('aria-label'))).toEqual([
      'Calls over time',
      'Calls by tool and outcome',
      'Waiting for approval',
      'Execution time',
    ]);
    const tables = screen.getAllByRole('table', { hidden: true });
    const cells = (index: number) =>
      within(tables[index] as HTMLElement)
        .getAllByRole('row', { hidden: true })
        .map((row) => [...row.children].map(({ textContent }) => textContent));
    expect(cells(1)).toEqual([
      ['Tool', 'done', 'failed', 'rejected', 'other', 'Total'],
      ['read_file', '4', '1', '0', '1', '6'],
      ['edit_file', '1', '1', '0', '1', '3'],
    ]);
    expect(cells(2)).toEqual([
      ['Tool', 'average', 'median', '95th percentile'],
      ['edit_file', '4.0 s', '3.0 s', '9.0 s'],
    ]);
    const text = document.body.textContent ?? '';
    expect(text).toContain('9calls');
    expect(text).toContain('56 %done');
    expect(text).toContain('3.0 smedian wait for you');
  });

  it('says of which days the ends of a day are', async () => {
    const ago = (hours: number) => new Date(Date.now() - hours * hour).toISOString();
    await open({ ...answer, since: ago(24), series: [{ ...point('read_file', 0), from: ago(1) }] });
    const names = [...(screen.getAllByRole('img')[0]?.querySelectorAll('.axis-name') ?? [])];
    const times = names.map(({ textContent }) => textContent ?? '').filter((text) => text.includes(':'));
    expect([times[0], times.at(-1)]).toEqual(
      Array(2).fill(expect.stringMatching(/^[A-Z][a-z]{2} \d\d:\d\d$/)),
    );
  });

  it('asks for another period', async () => {
    const { server } = await open(answer);
    await userEvent.click(screen.getByRole('button', { name: 'Last 7 days' }));
    await settle();
    const since = server.requests
      .filter(({ route }) => route === 'metrics')
      .map(({ url }) => Date.parse(new URL(url, 'http://x').searchParams.get('since') ?? ''));
    expect(Math.round(((since[0] ?? 0) - (since[1] ?? 0)) / hour)).toBe(144);
  });

  it('says when there was nothing, or it could not be read', async () => {
    await open({ ...answer, tools: [], series: [] });
    expect(document.body.textContent).toContain('No calls in this time');
    cleanup();
    await open(() => {
      throw new Refused(500, 'INTERNAL');
    });
    expect(screen.getByRole('alert').textContent).toContain('INTERNAL');
  });

  it('says so where no time is known', async () => {
    await open({ ...answer, tools: [tool('read_file', 3)], series: [point('read_file', 1)] });
    expect(document.body.textContent).toContain('Waiting for approvalNo calls in this time');
  });
});
