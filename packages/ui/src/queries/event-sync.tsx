import type { CountersignEvent } from '@countersign/protocol';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useLive } from '../live/live-context.ts';
import { keys } from './keys.ts';

/** Events come in bursts: queries are refetched at most this often. */
const refetchIntervalMs = 400;

/** Refetches REST data when an event makes it out of date. Draws nothing. */
export function EventSync() {
  const live = useLive();
  const queries = useQueryClient();
  useEffect(() => {
    const due = new Map<string, readonly unknown[]>();
    let cancel: (() => void) | undefined;
    const flush = () => {
      cancel = undefined;
      for (const queryKey of due.values()) void queries.invalidateQueries({ queryKey });
      due.clear();
    };
    const stop = live.listen((event) => {
      for (const key of outdatedBy(event)) due.set(JSON.stringify(key), key);
      if (due.size > 0) cancel ??= live.clock.after(refetchIntervalMs, flush);
    });
    return () => {
      stop();
      cancel?.();
    };
  }, [live, queries]);
  return null;
}

/** The query keys that an event makes out of date. */
function outdatedBy(event: CountersignEvent): readonly (readonly unknown[])[] {
  switch (event.event) {
    case 'stream.reset':
      return [[]];
    case 'runner.changed':
      return [keys.runners, keys.projects, keys.tools(event.data.project_id)];
    case 'message.created':
      return event.data.role === 'user' ? [keys.allSessions] : [];
    case 'session.changed':
      return [keys.allSessions];
    case 'tool.call':
      return [keys.allHistory];
    case 'tool.result':
      if (event.data.undo_id !== undefined)
        return [keys.allRunChanges, keys.allHistory, keys.execution(event.data.tool_id)];
      return [keys.allHistory, keys.allMetrics, keys.execution(event.data.tool_id), keys.grants];
    case 'approval.resolved':
      return [keys.allHistory, keys.execution(event.data.tool_id), keys.grants, keys.policy];
    default:
      return [];
  }
}
