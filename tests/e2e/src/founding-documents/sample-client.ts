/**
 * The sample client of the workflow document, statement by statement. The names that it uses without defining them are
 * passed in. Two things differ (`decidedOtherwise` says why): the stream's URL contains the project id, and the
 * caller's
 * `EventSource` and `fetch` carry a token.
 */
export interface SampleClientNames {
  readonly EventSource: new (url: string) => SampleEventSource;
  readonly fetch: (url: string, init: RequestInit) => Promise<unknown>;
  readonly console: Pick<Console, 'log'>;
  readonly projectId: string;
  readonly showApprovalDialog: (toolName: string, riskLevel: string, timeoutSeconds: number) => boolean;
  readonly executeToolLocally: (toolName: string, toolParams: ToolParams) => Promise<unknown>;
}

export interface SampleEventSource {
  addEventListener(name: string, listener: (event: { readonly data: string }) => void): void;
  close(): void;
}

export type ToolParams = Readonly<Record<string, unknown>>;

export function startSampleClient({
  EventSource,
  fetch,
  console,
  projectId,
  showApprovalDialog,
  executeToolLocally,
}: SampleClientNames): SampleEventSource {
  const eventSource = new EventSource(`/my/projects/${projectId}/chat/stream`);

  eventSource.addEventListener('tool.approval_request', (event) => {
    const data = JSON.parse(event.data);
    const { approval_id, tool_name, risk_level, timeout_seconds } = data;

    const approved = showApprovalDialog(tool_name, risk_level, timeout_seconds);

    if (approved) {
      fetch(`/my/projects/${projectId}/approvals/${approval_id}/approve`, {
        method: 'POST',
        body: JSON.stringify({ decision: 'approved' }),
      });
    } else {
      fetch(`/my/projects/${projectId}/approvals/${approval_id}/reject`, {
        method: 'POST',
        body: JSON.stringify({ reason: 'User declined' }),
      });
    }
  });

  eventSource.addEventListener('tool.execution_signal', async (event) => {
    const data = JSON.parse(event.data);
    const { tool_id, tool_name, tool_params } = data;

    try {
      const result = await executeToolLocally(tool_name, tool_params);

      await fetch(`/my/projects/${projectId}/tools/${tool_id}/result`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({
          status: 'completed',
          result: result,
        }),
      });

      console.log('Tool result sent successfully');
    } catch (error) {
      await fetch(`/my/projects/${projectId}/tools/${tool_id}/result`, {
        method: 'POST',
        body: JSON.stringify({
          status: 'failed',
          error: (error as Error).message,
        }),
      });
    }
  });

  return eventSource;
}
