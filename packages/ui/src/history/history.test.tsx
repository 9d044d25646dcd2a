// @vitest-environment happy-dom
import type { Execution } from '@countersign/protocol';
import { cleanup, fireEvent, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, describe, expect, it } from 'vitest';
import { event, examples, openPage, Refused, settle, TestServer } from '../page-fixture.test-data.tsx';
import { CallDetail } from './call-detail.tsx';
import { HistoryScreen } from './history-screen.tsx';

afterEach(cleanup);

const execution = (change: Partial<Execution> = {}): Execution => ({
  ...(examples<{ executions: Execution[] }>('bodies/history.response')[0]?.executions[0] as Execution),
  ...change,
});

const serverWith = (prepare: (server: TestServer) => void): TestServer => {
  const server = new TestServer();
  prepare(server);
  return server;
};

describe('the history', () => {
  const open = (prepare: (server: TestServer) => void = () => {}) =>
    openPage(<HistoryScreen projectId="p1" />, { server: serverWith(prepare) });
  const queries = (server: TestServer) =>
    server.requests
      .filter(({ route }) => route === 'history')
      .map(({ url }) => new URL(url, 'http://x').searchParams);

  it('shows calls with what became of them', async () => {
    const calls = [
      execution({
        tool_id: 't1',
        tool_name: 'edit_file',
        tool_params: { path: 'a.md' },
        status: 'completed',
        approved_by: 'user',
        execution_time_ms: 1234,
        risk_level: 'MEDIUM',
        undone_at: '2026-02-21T06:00:00Z',
      }),
      execution({
        tool_id: 't2',
        status: 'failed',
        approved_by: null,
        execution_time_ms: null,
        risk_level: null,
        undone_at: null,
      }),
      execution({ tool_id: 't3', status: 'rejected', approval_id: 'a3', approved_by: null }),
      execution({ tool_id: 't4', status: 'completed', exit_code: 1, undone_at: null }),
    ];
    await open((server) => server.on('history', { success: true, executions: calls, next_cursor: null }));
    const rows = screen.getAllByRole('row').map(({ textContent }) => textContent);
    expect(rows[1]).toContain('Edited a.md');
    expect(rows[1]).toContain('Undone');
    expect(screen.getAllByRole('row')[1]?.querySelector('.mark-undone')).not.toBeNull();
    expect(rows[4]).toContain('Done · exit 1');
    expect(screen.getAllByRole('row')[4]?.querySelector('.mark-nonzero')).not.toBeNull();
    expect(rows[1]).toContain('you');
    expect(rows[1]).toContain('1.2 s');
    expect(rows[2]).toContain('Failed');
    expect(rows[2]).not.toContain('you');
    expect(screen.getAllByRole('row')[3]?.querySelectorAll('td')[3]?.textContent).toBe('you');
    expect(screen.getAllByRole('link')[0]?.getAttribute('href')).toBe('#/history/t1');
  });

  it('filters, and resets the filters', async () => {
    const { server } = await open((one) =>
      one.on('history', { success: true, executions: [], next_cursor: null }),
    );
    expect(document.body.textContent).toContain('No calls yet');
    await userEvent.selectOptions(screen.getByLabelText('Outcome'), 'Rejected');
    await userEvent.selectOptions(screen.getByLabelText('Risk'), 'High risk');
    await userEvent.selectOptions(
      screen.getByLabelText('Tool'),
      screen.getAllByRole('option')[1] as HTMLElement,
    );
    fireEvent.change(screen.getByLabelText('From'), { target: { value: '2026-02-20' } });
    fireEvent.change(screen.getByLabelText('Until'), { target: { value: '2026-02-21' } });
    await settle();
    const last = queries(server).at(-1);
    expect(last?.get('status')).toBe('rejected');
    expect(last?.get('risk_level')).toBe('HIGH');
    expect(last?.get('project_id')).toBe('p1');
    expect(Date.parse(last?.get('until') ?? '') - Date.parse(last?.get('since') ?? '')).toBe(
      2 * 24 * 3600 * 1000 - 1,
    );
    expect(screen.getByLabelText('From')).toHaveProperty('value', '2026-02-20');
    expect(document.body.textContent).toContain('No calls match');
    fireEvent.change(screen.getByLabelText('From'), { target: { value: '' } });
    await userEvent.click(screen.getByRole('button', { name: 'Reset' }));
    await settle();
    expect(document.body.textContent).toContain('No calls yet');
  });

  it('goes on page by page', async () => {
    const { server } = await open((one) =>
      one.on('history', ({ url }) =>
        url.includes('cursor=next')
          ? { success: true, executions: [execution({ tool_id: 't2' })], next_cursor: null }
          : { success: true, executions: [execution({ tool_id: 't1' })], next_cursor: 'next' },
      ),
    );
    await userEvent.click(screen.getByRole('button', { name: 'Show more' }));
    await settle();
    expect(screen.getAllByRole('row')).toHaveLength(3);
    expect(screen.queryByRole('button', { name: 'Show more' })).toBeNull();
    expect(queries(server)).toHaveLength(2);
  });

  it('says when it could not be read, and reads it again', async () => {
    const { server } = await open((one) =>
      one.on('history', () => {
        throw new Refused(500, 'INTERNAL');
      }),
    );
    expect(screen.getByRole('alert').textContent).toContain('refused: INTERNAL');
    server.on('history', { success: true, executions: [execution()], next_cursor: null });
    await userEvent.click(screen.getByRole('button', { name: 'Try again' }));
    await settle();
    expect(screen.getAllByRole('row')).toHaveLength(2);
  });

  it('follows the events', async () => {
    const { server, clock } = await open((one) =>
      one.on('history', { success: true, executions: [], next_cursor: null }),
    );
    server.on('history', { success: true, executions: [execution()], next_cursor: null });
    await server.emit(event('tool.call'));
    await clock.advance(500);
    await settle();
    expect(screen.getAllByRole('row')).toHaveLength(2);
  });
});

describe('the detail of a call', () => {
  const detail = (change: object = {}, call: Partial<Execution> = {}) => ({
    success: true,
    execution: execution({
      tool_id: 't1',
      tool_name: 'edit_file',
      status: 'completed',
      tool_params: { path: 'a.md' },
      error: null,
      undone_at: null,
      undoable: false,
      ...call,
    }),
    result: { success: true, path: 'a.md', size: 3 },
    requested_params: { path: 'a.md' },
    preview: { kind: 'summary', summary: 'Changes a file' },
    decision: {
      status: 'approved',
      by: { device: 'phone', token_id: 'token-1' },
      reason: null,
      message: null,
    },
    ...change,
  });
  const open = async (answer: object, prepare: (server: TestServer) => void = () => {}) =>
    openPage(<CallDetail toolId="t1" />, {
      server: serverWith((server) => {
        server.on('getExecution', answer);
        prepare(server);
      }),
    });

  it('shows parameters, preview, decision, who, output and timing', async () => {
    await open(
      detail(
        {},
        {
          created_at: '2026-02-21T06:19:00Z',
          approved_at: '2026-02-21T06:19:12Z',
          completed_at: '2026-02-21T06:19:13Z',
          execution_time_ms: 40,
          requires_approval: true,
        },
      ),
    );
    const text = document.body.textContent ?? '';
    for (const part of [
      'Edited a.md',
      'edit_file',
      'Done',
      'Changes a file',
      'phone',
      'token-1',
      '"size": 3',
      'Waited for you12 s',
      'Ran for40 ms',
    ]) {
      expect(text).toContain(part);
    }
  });

  it('[AP-6] shows both parameters when the person edited them', async () => {
    await open(detail({ requested_params: { path: 'b.md' } }));
    expect(document.body.textContent).toContain('You edited the parameters.');
    expect(document.body.textContent).toContain('"path": "b.md"');
  });

  it('shows errors, late results and what is no longer kept', async () => {
    await open(
      detail(
        {
          result: null,
          preview: null,
          decision: null,
          late_result: { status: 'completed', result: { late: true }, error: null },
          omitted: ['result'],
        },
        {
          status: 'failed',
          error: { code: 'RUNNER_LOST', message: 'Outcome unknown.', recoverable: false },
          approved_by: 'auto',
        },
      ),
    );
    const text = document.body.textContent ?? '';
    for (const part of ['Outcome unknown.', 'RUNNER_LOST', '"late": true', 'No longer kept', 'not asked'])
      expect(text).toContain(part);
  });

  it('says when no decision was needed or is pending', async () => {
    await open(detail({ decision: null }, { approved_by: null }));
    expect(document.body.textContent).toContain('No decision was needed.');
    cleanup();
    await open(detail({ decision: { status: 'pending', by: null, reason: null, message: null } }));
    expect(document.body.textContent).toContain('Waits for you');
  });

  it('says when there is none', async () => {
    await openPage(<CallDetail toolId="t1" />, {
      server: serverWith((server) =>
        server.on('getExecution', () => {
          throw new Refused(404, 'NOT_FOUND');
        }),
      ),
    });
    expect(screen.getByRole('alert').textContent).toContain('NOT_FOUND');
  });

  const undone = (status: 'completed' | 'failed', error: object | null) =>
    event('tool.result', {
      tool_id: 't1',
      undo_id: 'u1',
      status,
      error: error as never,
      result: null,
      late: false,
    });

  it('[RN-3] undoes, and tells the runner’s answer', async () => {
    const { server } = await open(detail({}, { undoable: true }), (one) =>
      one.on('undoExecution', { success: true, tool_id: 't1', undo_id: 'u1' }),
    );
    await userEvent.click(screen.getByRole('button', { name: 'Undo this change' }));
    await settle();
    expect(document.body.textContent).toContain('Your machine was asked');
    await server.emit(event('tool.result', { tool_id: 't1' }), undone('completed', null));
    expect(document.body.textContent).toContain('Undone: the files are as they were before.');
    expect(server.bodiesOf('undoExecution')).toEqual([{ force: false }]);
  });

  it('[RN-3] a conflict is shown, and can be overridden', async () => {
    const { server } = await open(detail({}, { undoable: true }), (one) =>
      one.on('undoExecution', { success: true, tool_id: 't1', undo_id: 'u1' }),
    );
    await userEvent.click(screen.getByRole('button', { name: 'Undo this change' }));
    await settle();
    await server.emit(
      undone('failed', { code: 'UNDO_CONFLICT', message: 'a.md was changed since.', recoverable: false }),
    );
    expect(screen.getByRole('alert').textContent).toContain('a.md was changed since.');
    await userEvent.click(screen.getByRole('button', { name: /Undo anyway/ }));
    await settle();
    expect(server.bodiesOf('undoExecution')).toEqual([{ force: false }, { force: true }]);
  });

  it('[RN-3] an answer that is quicker than the server’s is not missed', async () => {
    const asked = Promise.withResolvers<object>();
    const { server } = await open(detail({}, { undoable: true }), (one) =>
      one.on('undoExecution', () => asked.promise),
    );
    await userEvent.click(screen.getByRole('button', { name: 'Undo this change' }));
    await server.emit(
      undone('failed', { code: 'UNDO_CONFLICT', message: 'a.md was changed since.', recoverable: false }),
    );
    asked.resolve({ success: true, tool_id: 't1', undo_id: 'u1' });
    await settle();
    expect(screen.getByRole('alert').textContent).toContain('a.md was changed since.');
  });

  it('says why it cannot be undone now', async () => {
    await open(detail({}, { undoable: true }), (server) =>
      server.on('undoExecution', () => {
        throw new Refused(503, 'NO_RUNNER');
      }),
    );
    await userEvent.click(screen.getByRole('button', { name: 'Undo this change' }));
    await settle();
    expect(screen.getByRole('alert').textContent).toContain('NO_RUNNER');
    expect(screen.queryByRole('button', { name: /Undo anyway/ })).toBeNull();
  });
});
