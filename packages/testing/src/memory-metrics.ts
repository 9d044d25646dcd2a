import type { ApprovalRow, ExecutionRow, ToolMetricsRow } from '@countersign/engine';

/** What the databases count in SQL (OB-1). */
export function toolMetrics(
  calls: readonly ExecutionRow[],
  approvalOf: (id: string) => ApprovalRow | undefined,
): readonly ToolMetricsRow[] {
  const byTool = Map.groupBy(calls, (call) => call.tool_name);
  return [...byTool]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([tool_name, rows]) => {
      const count = (...statuses: readonly string[]) =>
        rows.filter((row) => statuses.includes(row.status)).length;
      const took = rows.flatMap((row) => row.execution_time_ms ?? []);
      const waited = rows.flatMap((row) => {
        const approval = row.approval_id === null ? undefined : approvalOf(row.approval_id);
        return approval?.decided_at == null ? [] : [approval.decided_at - approval.created_at];
      });
      return {
        tool_name,
        total_calls: rows.length,
        success_count: count('completed'),
        error_count: count('failed', 'timeout'),
        rejected_count: count('rejected'),
        avg_execution_time_ms: average(took),
        p50_execution_time_ms: percentile(took, 0.5),
        p95_execution_time_ms: percentile(took, 0.95),
        avg_approval_wait_ms: average(waited),
        p50_approval_wait_ms: percentile(waited, 0.5),
        p95_approval_wait_ms: percentile(waited, 0.95),
      };
    });
}

const average = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;

/** The smallest value that so many did not exceed. */
function percentile(values: readonly number[], part: number): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * part) - 1] ?? null;
}
