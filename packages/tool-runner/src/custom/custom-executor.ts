import {
  CountersignError,
  type CustomToolCall,
  isCustomCall,
  makeVisible,
  type Preview,
  type ToolCall,
} from '@countersign/protocol';
import type { CallContext, Executor, ToolResult } from '../executor.ts';
import { digestOf } from '../preview/call-digest.ts';
import { fitPreview, visibleName } from '../preview/look.ts';
import type { Workspace } from '../workspace.ts';
import type { ListedTool } from './listed-tools.ts';
import { describeReach } from './server-entry.ts';
import { resultOfAnswer } from './tool-answer.ts';
import type { FoundTool, ToolServers } from './tool-servers.ts';

const MAX_SUMMARY = 500;

/** Custom tools (RN-8): the preview for the card, the digest of the approval, and the call itself. */
export class CustomExecutor implements Executor {
  /** Empty, because the person's configuration names the tools. */
  readonly tools = [] as const;
  readonly #workspace: Workspace;
  readonly #servers: ToolServers;

  constructor(workspace: Workspace, servers: ToolServers) {
    this.#workspace = workspace;
    this.#servers = servers;
  }

  preview(call: CustomToolCall): { preview: Preview; base: string } {
    const { server, listed } = this.#locate(call);
    const { tool, ownName } = listed;
    const preview: Preview = {
      kind: 'custom',
      server: server.entry.name,
      tool: visibleName(ownName.slice(0, 200)),
      summary: tool.description.slice(0, MAX_SUMMARY),
      runs: describeReach(server.entry),
      network: tool.network,
      hints: [
        ...(tool.read_only ? ['read_only' as const] : []),
        ...(tool.destructive ? ['destructive' as const] : []),
      ],
    };
    return { preview: fitPreview(preview), base: this.digest(call) };
  }

  /** Covers the call, the tool as its server describes it, and the server's entry (AP-8). */
  digest(call: CustomToolCall): string {
    return this.#digestOf(call, this.#locate(call).listed);
  }

  async execute(call: ToolCall, context: CallContext): Promise<ToolResult> {
    if (!isCustomCall(call)) throw new TypeError(`CustomExecutor does not know ${call.tool}`);
    const { server, listed } = this.#locate(call);
    const answer = await server.call({
      tool: listed.ownName,
      params: call.params,
      signal: context.signal,
      confirm: (now) => {
        if (now && this.#digestOf(call, now) === context.digest) return;
        throw new CountersignError('APPROVAL_STALE', {
          problem: now
            ? 'its server describes the tool differently now'
            : 'its server no longer has the tool',
        });
      },
      onProgress: ({ progress, total, message }) => {
        const percent = total !== undefined && total > 0 ? (100 * progress) / total : undefined;
        const isKnown = percent !== undefined && Number.isFinite(percent);
        context.onProgress({
          ...(isKnown && { percent: Math.min(100, Math.max(0, percent)) }),
          ...(message !== undefined && { message: makeVisible(server.mask(message)).slice(0, 500) }),
        });
      },
    });
    const { outputStreamBytes } = this.#workspace.limits;
    return resultOfAnswer(answer, { outputBytes: outputStreamBytes, mask: server.mask });
  }

  async dispose(): Promise<void> {
    await this.#servers.dispose();
  }

  #locate({ tool }: CustomToolCall): FoundTool {
    const found = this.#servers.locate(tool);
    if (found) return found;
    throw new CountersignError('UNKNOWN_TOOL', { tool, known: this.#servers.names.join(', ') || 'none' });
  }

  #digestOf(call: CustomToolCall, { tool, digest }: ListedTool): string {
    const { root } = this.#workspace;
    return digestOf({
      call,
      root,
      directory: '',
      network: tool.network,
      files: [],
      base: ['custom', digest],
    });
  }
}
