/** Plays the runners of two people, and for one of them the person who approves. */
import { HttpClient } from '../processes/http-client.ts';
import { announceReady, inputOf } from '../processes/program.ts';
import { fileText, writeParams } from './contents.ts';

interface Person {
  readonly project: { readonly id: string; readonly workspace: string };
  readonly runner: string;
  readonly frontEnd: string;
}
const { address, people } = inputOf<{ address: string; people: readonly [Person, Person] }>();
const [reader, writer] = people;
const digest_base = `sha256:${'0'.repeat(64)}`;
const preview = {
  kind: 'diff',
  files: [
    {
      path: writeParams.path,
      operation: 'modified',
      diff: `--- a\n+++ b\n@@ -1 +1 @@\n-old\n+${fileText}`,
      truncated: false,
      size_before: 3,
      size_after: fileText.length,
    },
  ],
};
const done = { success: true, content: fileText };
const written = { success: true, changed_files: [{ path: writeParams.path, operation: 'modified' }] };

await run(reader);
await run(writer);
await decide(writer);
announceReady();

/** A runner: previews requests, claims approved calls, reports results. */
async function run({ project, runner: token }: Person): Promise<void> {
  const http = new HttpClient(address, token);
  const runner_id = `runner-of-${project.id}`;
  const base = `/my/projects/${project.id}`;
  const onSignal = async (signal: {
    tool_id: string;
    risk_level: string;
    attempt: number;
    digest: string | null;
  }) => {
    const { tool_id, risk_level, attempt, digest } = signal;
    const isLow = risk_level === 'LOW';
    if (!isLow) await http.post(`${base}/tools/${tool_id}/start`, { digest, runner_id, attempt });
    const result = isLow ? done : written;
    const report = { status: 'completed', result, execution_time_ms: 1, attempt, runner_id };
    await http.post(`${base}/tools/${tool_id}/result`, report);
  };
  const onRequest = ({ approval_id, revision }: { approval_id: string; revision: number }) => {
    const verdict = { risk_level: 'MEDIUM', network: false, reasons: [] };
    const shown = { runner_id, revision, preview, digest_base, ...verdict };
    return http.post(`${base}/approvals/${approval_id}/preview`, shown);
  };
  const query = new URLSearchParams({ runner: runner_id, workspace: project.workspace });
  await http.listen(`${base}/chat/stream?${query}`, (event, data) => {
    if (event === 'tool.execution_signal') void onSignal(data as never);
    if (event === 'tool.approval_request') void onRequest(data as never);
  });
}

/** A person who approves everything at once. */
async function decide({ project, frontEnd: token }: Person): Promise<void> {
  const http = new HttpClient(address, token);
  const base = `/my/projects/${project.id}`;
  await http.listen(`${base}/chat/stream`, (event, data) => {
    if (event !== 'approval.updated') return;
    const shown = data as { approval_id: string; digest: string };
    void http.post(`${base}/approvals/${shown.approval_id}/approve`, { digest: shown.digest });
  });
}
