import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CountersignError, type CountersignEvent, type ErrorCode, routes } from '@countersign/protocol';
import {
  type DialogAnswer,
  type RunnerApi,
  type ToolHandler,
  type ToolHandlerConfig,
  WorkspaceRunner,
  workspaceAt,
} from '@countersign/tool-runner';
import { signToken } from '../../../lab/src/tokens.ts';
import type { Answer, Json, Person } from './document-fixture.ts';

export interface HandlerOverRest {
  readonly handler: ToolHandler;
  readonly log: { readonly level: 'debug' | 'info' | 'error'; readonly message: string }[];
}

/**
 * The real ToolHandler with the collaborators that its document names (an api, a dialog provider, a logger, a config),
 * in the person's workspace. The api is plain `fetch`: the document's three methods, and the claim and the preview
 * that the specification adds. `WorkspaceRunner` only passes the events of the stream on to it.
 */
export async function startHandler(
  person: Person,
  showApprovalDialog: () => DialogAnswer | Promise<DialogAnswer> = () => true,
  config: ToolHandlerConfig = {},
): Promise<HandlerOverRest> {
  const own = mkdtempSync(join(tmpdir(), 'countersign-documents-state-'));
  const runnerId = `handler-of-${person.userId}`;
  const token = signToken(person.userId, 'runner');
  const log: HandlerOverRest['log'] = [];
  const at = (level: 'debug' | 'info' | 'error') => (message: string) => log.push({ level, message });
  const runner = new WorkspaceRunner({
    ...config,
    runnerId,
    workspace: workspaceAt(person.workspace, { stateFolder: join(own, 'state') }),
    configFolder: join(own, 'config'),
    api: apiOverRest(person, runnerId, token),
    dialogProvider: { showApprovalDialog: async () => showApprovalDialog() },
    logger: { debug: at('debug'), info: at('info'), error: at('error') },
    projectId: person.projectId,
  });
  person.onLeave(async () => {
    await runner.dispose();
    rmSync(own, { recursive: true, force: true });
  });
  const query = new URLSearchParams({
    runner: runnerId,
    workspace: person.workspace,
    capabilities: 'filesystem,command,shell,git,lsp,preview,path_rules',
  });
  await person.listenAsRunner(`${query}`, token, ({ name, data }) =>
    runner.receive({ event: name, data } as unknown as CountersignEvent),
  );
  await person.listen();
  runner.connected();
  return { handler: runner.handler, log };
}

function apiOverRest(person: Person, runner_id: string, token: string): RunnerApi {
  const about = { runner_id };
  const report = async (path: string, body: Json) =>
    accepted(await person.post(person.inProject(path), body, token));
  const decide = async (approvalId: unknown, decision: 'approve' | 'reject', body: Json) => {
    const { status, body: told } = await person.post(
      person.inProject(`/approvals/${approvalId}/${decision}`),
      body,
    );
    if (status === 409 && told.standing)
      return { outcome: 'overruled', standing: told.standing as never } as const;
    const response = routes.approve.response.parse(accepted({ status, body: told }));
    return { outcome: 'recorded', response } as const;
  };
  return {
    approveToolExecution: (approvalId, body) =>
      decide(approvalId, 'approve', { decision: 'approved', ...body } as Json),
    rejectToolExecution: (approvalId, body) => decide(approvalId, 'reject', body as Json),
    async sendToolResult(toolId, body) {
      const { audit_head } = await report(`/tools/${toolId}/result`, { ...body, ...about } as Json);
      return { audit_head: audit_head === undefined ? undefined : String(audit_head) };
    },
    async startToolExecution(toolId, claim) {
      await report(`/tools/${toolId}/start`, { ...claim, ...about } as Json);
    },
    async sendToolPreview(approvalId, preview) {
      await report(`/approvals/${approvalId}/preview`, { ...preview, ...about } as Json);
    },
    async sendToolProgress(toolId, progress) {
      await report(`/tools/${toolId}/progress`, { ...progress, ...about });
    },
  };
}

/** Throws a refusal with the server's code. */
function accepted({ status, body }: Answer): Json {
  if (status === 200) return body;
  throw Object.assign(new CountersignError(body.code as ErrorCode), { message: String(body.error) });
}
