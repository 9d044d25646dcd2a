import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { eventNames, eventSchemas, maxEventBytes, parseEvent } from './events.ts';

/** The required fields of each event; after the bar, its optional fields. */
const pinned = {
  'tool.approval_request':
    'approval_id tool_id tool_call_id project_id session_id agent tool_name description tool_params risk_level reasons network revision timeout_seconds remaining_ms expires_at runner_id preview digest digest_base offered_scopes context timestamp | asked_before trying omitted path_rules',
  'tool.execution_signal':
    'tool_id project_id session_id tool_call_id tool_name tool_params risk_level network attempt runner_id approved_by approval_id grant_id grant rule digest timestamp | run_id further_grants further_rules path_rules omitted',
  'tool.result_ack': 'tool_id status timestamp | attempt error audit_head',
  'tool.call':
    'tool_id project_id session_id tool_call_id tool_name tool_params risk_level requires_approval status context timestamp | approved_by scope omitted',
  'tool.progress': 'tool_id project_id session_id progress message output timestamp',
  'tool.result':
    'tool_id project_id session_id tool_call_id tool_name status result error execution_time_ms late timestamp | exit_code not_started undo_id omitted',
  'tool.cancel': 'tool_id project_id session_id reason timestamp',
  'tool.undo': 'tool_id project_id session_id undo_id runner_id force timestamp | tool_ids',
  'tool.try': 'tool_id project_id session_id approval_id revision runner_id timestamp',
  'file.changed': 'tool_id project_id session_id path operation timestamp',
  'agent.state': 'project_id session_id run_id state timestamp',
  'message.created':
    'message_id session_id run_id role content complete created_at project_id timestamp | model tool_calls tool_id omitted',
  'message.delta': 'project_id session_id message_id offset text',
  'queue.changed': 'project_id session_id queued timestamp',
  'session.changed': 'session timestamp | deleted',
  'session.rewound': 'project_id session_id message_id messages timestamp',
  'approval.updated':
    'approval_id tool_id project_id session_id revision description tool_params risk_level reasons network timeout_seconds remaining_ms expires_at runner_id preview digest digest_base offered_scopes timestamp | trying omitted path_rules',
  'approval.resolved':
    'approval_id tool_id project_id session_id status approved_by grant_id device reason message timestamp | scope error',
  'runner.changed': 'project_id runner_id workspace state capabilities timestamp',
  'stream.reset': 'reason timestamp',
};

/** What the founding documents and EV-1 promise a client that was written against them. */
const promisedBySeeds = {
  'tool.approval_request': 'approval_id tool_id tool_name risk_level timeout_seconds description timestamp',
  'tool.execution_signal': 'tool_id tool_name tool_params timestamp',
  'tool.result_ack': 'tool_id status timestamp',
  'tool.call': 'requires_approval',
  'tool.progress': 'progress message',
  'tool.result': 'status result',
  'file.changed': 'path operation',
  'agent.state': 'state',
};

describe('eventSchemas', () => {
  it('[EV-1] keeps the name and the fields of every event', () => {
    const actual = Object.entries(eventSchemas).map(([name, schema]) => [name, fieldsOf(schema)]);
    expect(Object.fromEntries(actual)).toEqual(pinned);
  });

  it('[EV-1] has every field that the founding documents promise', () => {
    for (const [name, fields] of Object.entries(promisedBySeeds)) {
      const { required } = z.toJSONSchema(eventSchemas[name as keyof typeof promisedBySeeds]);
      expect(required, name).toEqual(expect.arrayContaining(fields.split(' ')));
    }
  });

  it('[EV-1] keeps the words that payloads choose from', () => {
    const { shape } = eventSchemas['agent.state'];
    expect(shape.state.options).toEqual(['idle', 'thinking', 'awaiting_approval', 'tool_execution']);
    expect(eventSchemas['tool.result_ack'].shape.status.options).toEqual(['received', 'rejected']);
    expect(eventSchemas['file.changed'].shape.operation.options).toEqual(['created', 'modified', 'deleted']);
    expect(eventSchemas['runner.changed'].shape.state.options).toEqual(['connected', 'disconnected']);
    expect(eventSchemas['tool.result'].shape.status.options).toEqual([
      'completed',
      'failed',
      'rejected',
      'timeout',
      'cancelled',
    ]);
    expect(eventSchemas['approval.resolved'].shape.status.options).toEqual([
      'approved',
      'rejected',
      'timeout',
      'cancelled',
    ]);
  });

  it('[EV-2] bounds an event at 64 KB', () => {
    expect(maxEventBytes).toBe(65_536);
  });

  it('lists the names in the order of the table', () => {
    expect(eventNames).toEqual(Object.keys(pinned));
  });
});

describe('parseEvent', () => {
  const reset = { reason: 'The event to resume from is too old.', timestamp: '2026-02-21T06:19:00Z' };

  it('reads an event by its name', () => {
    expect(parseEvent('stream.reset', reset)).toEqual({
      ok: true,
      event: { event: 'stream.reset', data: reset },
    });
  });

  it('ignores a field that is newer than this client', () => {
    expect(parseEvent('stream.reset', { ...reset, added_later: 1 })).toEqual({
      ok: true,
      event: { event: 'stream.reset', data: reset },
    });
  });

  it.each(['tool.unheard_of', '', '__proto__', 'constructor', 'toString'])(
    'names an unknown event: %j',
    (name) => {
      expect(parseEvent(name, reset)).toEqual({ ok: false, problem: `unknown event "${name}"` });
    },
  );

  it('says what is wrong with a payload', () => {
    expect(parseEvent('stream.reset', { reason: 1 })).toEqual({
      ok: false,
      problem: 'stream.reset: reason: invalid input: expected string, received number; timestamp is missing',
    });
  });

  it.each([null, undefined, 'text', 7, []])('reports %j as a problem instead of a payload', (data) => {
    expect(parseEvent('stream.reset', data).ok).toBe(false);
  });

  it('[EV-1] refuses a time that is not UTC', () => {
    expect(parseEvent('stream.reset', { ...reset, timestamp: '2026-02-21T06:19:00+01:00' }).ok).toBe(false);
  });

  it('cuts an absurd name short', () => {
    expect(parseEvent('x'.repeat(100_000), reset)).toEqual({
      ok: false,
      problem: `unknown event "${'x'.repeat(100)}"`,
    });
  });
});

function fieldsOf(schema: z.ZodType): string {
  const { properties = {}, required = [] } = z.toJSONSchema(schema);
  const optional = Object.keys(properties).filter((name) => !required.includes(name));
  return required.join(' ') + (optional.length > 0 ? ` | ${optional.join(' ')}` : '');
}
