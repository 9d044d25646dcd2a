import type { PolicyDecision } from '@countersign/policy';
import {
  type BuiltInToolCall,
  type BuiltInToolName,
  CountersignError,
  catalogue,
  type NetworkAccess,
  type Preview,
  runnerCapabilities,
} from '@countersign/protocol';
import { executeCommand } from './commands/execute-command.ts';
import { reachHost } from './commands/reach-host.ts';
import { shellBackground, shellExec, shellKill, shellOutput } from './commands/shell-tools.ts';
import type { CallContext, Executor, ToolResult } from './executor.ts';
import { copyFile } from './files/copy-file.ts';
import { createDirectory } from './files/create-directory.ts';
import { deleteFile } from './files/delete-file.ts';
import { editFile } from './files/edit-file.ts';
import { listDirectory } from './files/list-directory.ts';
import { moveFile } from './files/move-file.ts';
import { readFile } from './files/read-file.ts';
import { searchFiles } from './files/search-files.ts';
import { writeFile } from './files/write-file.ts';
import { gitBranch } from './git/git-branch.ts';
import { gitCommit } from './git/git-commit.ts';
import { gitDiff } from './git/git-diff.ts';
import { gitLog } from './git/git-log.ts';
import { gitPush } from './git/git-push.ts';
import { gitStatus } from './git/git-status.ts';
import { definition, diagnostics, hover, references, symbols } from './lsp/language-tools.ts';
import { prepareDocuments } from './open-documents.ts';
import { fitPreview } from './preview/look.ts';
import { ExecutionCancelled } from './runner-errors.ts';
import type {
  CallOf,
  MadeChange,
  ProposedText,
  ServicesOf,
  ToolModule,
  ToolServices,
} from './tool-module.ts';
import type { TriedCall } from './trial/trials.ts';

/** The module of each tool in the catalogue. A tool without a module does not compile. */
const modules: { readonly [N in BuiltInToolName]: ToolModule<N> } = {
  read_file: readFile,
  write_file: writeFile,
  edit_file: editFile,
  search_files: searchFiles,
  delete_file: deleteFile,
  list_directory: listDirectory,
  create_directory: createDirectory,
  copy_file: copyFile,
  move_file: moveFile,
  execute_command: executeCommand,
  reach_host: reachHost,
  shell_exec: shellExec,
  shell_background: shellBackground,
  shell_output: shellOutput,
  shell_kill: shellKill,
  git_status: gitStatus,
  git_diff: gitDiff,
  git_log: gitLog,
  git_commit: gitCommit,
  git_branch: gitBranch,
  git_push: gitPush,
  diagnostics,
  symbols,
  hover,
  definition,
  references,
};

/** Previews and executes the built-in tools in one workspace. Tools of a category without services are unknown. */
export class BuiltInTools implements Executor {
  readonly tools: readonly BuiltInToolName[];
  readonly #services: Partial<ToolServices>;
  readonly #disposal = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  constructor(services: Partial<ToolServices>) {
    this.#services = services;
    this.tools = catalogue.filter(({ category }) => category in services).map(({ name }) => name);
  }

  get isBusy(): boolean {
    return this.#services.shell?.jobs.isAnyRunning ?? false;
  }

  /** Makes the preview and the base of its digest (AP-7). Changes nothing. */
  async preview(
    call: BuiltInToolCall,
    decision: PolicyDecision,
  ): Promise<{ preview: Preview; base: string }> {
    const { draw, digest } = await this.#look(call, decision);
    return { preview: fitPreview(draw()), base: digest };
  }

  /** The same base without the preview, for a call that needs no card (AP-4). */
  async base(call: BuiltInToolCall, decision: PolicyDecision): Promise<string> {
    return (await this.#look(call, decision)).digest;
  }

  /** How to try a call in a layer; undefined for one that is not a command that we wait for. */
  triedCallOf<N extends BuiltInToolName>(call: CallOf<N>, decision: PolicyDecision): TriedCall | undefined {
    return modules[call.tool].triedCall?.(call, decision, this.#servicesFor(call.tool));
  }

  /** One text file before and after the call; undefined for other calls. Throws what `preview` throws. */
  async proposedText<N extends BuiltInToolName>(
    call: CallOf<N>,
    decision: PolicyDecision,
  ): Promise<ProposedText | undefined> {
    await this.#prepare(call);
    return modules[call.tool].propose?.(call, decision, this.#servicesFor(call.tool));
  }

  async execute(call: BuiltInToolCall, context: CallContext): Promise<ToolResult> {
    const signal = AbortSignal.any([context.signal, this.#disposal.signal]);
    if (signal.aborted) throw new ExecutionCancelled();
    const running = this.#run(call, { ...context, signal });
    this.#running.add(running);
    try {
      // The cast ignores optional fields that are undefined, because JSON leaves them out.
      return (await running) as ToolResult;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Ends the background jobs of a conversation that was deleted, and its `/tmp` and loopback (RN-5). */
  async endConversation(session: string): Promise<void> {
    const { shell } = this.#services;
    await shell?.jobs.endSession(session);
    await shell?.starter.endConversation(session);
  }

  async dispose(): Promise<void> {
    const { filesystem, shell, git, lsp } = this.#services;
    this.#disposal.abort();
    await Promise.allSettled([...this.#running, shell?.jobs.endAll(), lsp?.dispose()]);
    filesystem?.cache.clear();
    git?.dispose();
  }

  // The type parameter says that a call, its module and its services belong together.

  async #look<N extends BuiltInToolName>(call: CallOf<N>, decision: PolicyDecision) {
    await this.#prepare(call);
    return modules[call.tool].look(call, decision, this.#servicesFor(call.tool));
  }

  async #run<N extends BuiltInToolName>(call: CallOf<N>, context: CallContext) {
    await this.#prepare(call);
    const services = this.#servicesFor(call.tool);
    const network = await networkOf(call, context, services);
    return modules[call.tool].execute(call, { ...context, network }, services);
  }

  async #prepare({ params }: { readonly params: object }): Promise<void> {
    const workspace = this.#services.filesystem?.workspace;
    if (workspace?.documents?.prepare) await prepareDocuments(workspace, params as Record<string, unknown>);
  }

  #servicesFor<N extends BuiltInToolName>(tool: N): ServicesOf<N> {
    const row = catalogue.find(({ name }) => name === tool);
    const services = row && this.#services[row.category];
    if (!services) throw new CountersignError('UNKNOWN_TOOL', { tool, known: this.tools.join(', ') });
    return services as ServicesOf<N>;
  }
}

/** The network of a command that gets network: the hosts of its card, which were part of the digest just compared. */
async function networkOf(
  call: { readonly params: object },
  { network, details }: CallContext,
  services: ToolServices[keyof ToolServices],
): Promise<NetworkAccess> {
  if (network !== true || !details || !('callNetwork' in services)) return network;
  return (await services.callNetwork?.of(call, details, network)) ?? network;
}

/** The result of a call that a crash interrupted after all of its changes were made; undefined for other tools. */
export function recoveredResult(tool: string, changes: readonly MadeChange[]): ToolResult | undefined {
  const found = catalogue.find(({ name }) => name === tool);
  return found && (modules[found.name].recover?.(changes) as ToolResult | undefined);
}

/** Capabilities that every runner announces when it opens its stream. */
export const announcedCapabilities: readonly string[] = [
  ...new Set(catalogue.map(({ category }) => category)),
  runnerCapabilities.preview,
  runnerCapabilities.pathRules,
];
