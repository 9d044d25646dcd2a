import { CountersignError, type JsonValue } from '@countersign/protocol';
import { type RetryOptions, retry } from './retry.ts';
import type { ApprovalRequest, RunnerApi } from './runner-api.ts';

/** The parameters of a call, also where its event left them out for their size (EV-2). */
export async function callParams(
  { tool_id, tool_params, omitted }: Pick<ApprovalRequest, 'tool_id' | 'tool_params' | 'omitted'>,
  api: RunnerApi,
  trying: Pick<RetryOptions, 'clock' | 'logger' | 'signal'>,
): Promise<Record<string, JsonValue>> {
  if (!omitted?.includes('tool_params')) return tool_params;
  const fetchParams = api.fetchToolParams?.bind(api);
  if (!fetchParams)
    throw new CountersignError('UNAVAILABLE', { problem: 'the parameters cannot be fetched' });
  const failing = `Fetching the parameters failed: ${tool_id}`;
  return retry(() => fetchParams(tool_id), { ...trying, failing });
}
