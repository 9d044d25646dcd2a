import { PathValidator } from '@countersign/policy';
import { type BuiltInToolCall, CountersignError } from '@countersign/protocol';
import type { CallContext, Executor, ToolResult } from '../executor.ts';
import type { ProcessRequest } from '../isolation/isolated-process.ts';
import type { IsolatingStarter } from '../isolation/process-starter.ts';
import { realDisk } from '../real-disk.ts';
import { ExecutionCancelled } from '../runner-errors.ts';
import type { Workspace } from '../workspace.ts';
import { BackgroundJobs } from './background-jobs.ts';
import { commandConfinement } from './command-confinement.ts';
import { commandResult } from './command-result.ts';
import { runToEnd } from './run-to-end.ts';
import { RunningCalls } from './running-calls.ts';

/** The shell tools: a bash line that is waited for, or that goes on in the background (TL-1). */
export class ShellExecutor implements Executor {
  readonly tools = ['shell_exec', 'shell_background', 'shell_output', 'shell_kill'] as const;
  readonly #workspace: Workspace;
  readonly #starter: IsolatingStarter;
  readonly #paths: PathValidator;
  readonly #jobs: BackgroundJobs;
  readonly #running = new RunningCalls();

  constructor(workspace: Workspace, starter: IsolatingStarter) {
    this.#workspace = workspace;
    this.#starter = starter;
    this.#paths = new PathValidator({ root: workspace.root, disk: realDisk });
    this.#jobs = new BackgroundJobs(starter, workspace.limits.outputStreamBytes);
  }

  async execute(call: BuiltInToolCall, context: CallContext): Promise<ToolResult> {
    switch (call.tool) {
      case 'shell_exec':
        return this.#run(call.params, context);
      case 'shell_background': {
        if (context.signal.aborted) throw new ExecutionCancelled();
        return {
          success: true,
          job_id: this.#jobs.start(context.sessionId, this.#request(call.params, context)),
        };
      }
      case 'shell_output': {
        const { stdout, stderr, isRunning, exitCode, isCut } = this.#jobs.look(
          context.sessionId,
          call.params.job_id,
        );
        const truncated = isCut ? { truncated: true } : {};
        return { success: true, stdout, stderr, running: isRunning, exit_code: exitCode, ...truncated };
      }
      case 'shell_kill':
        return { success: true, exit_code: await this.#jobs.end(context.sessionId, call.params.job_id) };
      default:
        throw new TypeError(`ShellExecutor does not know ${call.tool}`);
    }
  }

  get isBusy(): boolean {
    return this.#jobs.isAnyRunning;
  }

  async dispose(): Promise<void> {
    await Promise.all([this.#running.cancelAll(), this.#jobs.endAll()]);
  }

  async #run(params: ShellLine & { readonly timeout: number }, context: CallContext): Promise<ToolResult> {
    const { limits } = this.#workspace;
    const timeoutSeconds = Math.min(params.timeout, limits.commandTimeoutMaxSeconds);
    const ending = await this.#running.track(context.signal, async (signal) =>
      runToEnd(this.#starter, this.#request(params, context), {
        timeoutSeconds,
        outputBytes: limits.outputStreamBytes,
        signal,
        onProgress: context.onProgress,
        onProcess: context.onProcess,
      }),
    );
    const limit = limits.commandTimeoutMaxSeconds;
    return commandResult('The shell line', ending, { timeout: timeoutSeconds, limit });
  }

  #request({ command, cwd = '.' }: ShellLine, context: CallContext): ProcessRequest {
    const checked = this.#paths.check(cwd);
    if (!checked.ok) {
      const problem = checked.refused.reasons[0]?.why ?? '';
      throw new CountersignError(checked.refused.code, { path: cwd, kind: problem, problem });
    }
    return {
      program: 'bash',
      args: ['--noprofile', '--norc', '-c', command],
      cwd: checked.relative,
      confinement: commandConfinement(context, 'bash', []),
      stdin: 'ignore',
    };
  }
}

interface ShellLine {
  readonly command: string;
  readonly cwd?: string | undefined;
}
