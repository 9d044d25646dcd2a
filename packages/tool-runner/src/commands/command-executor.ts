import type { BuiltInToolCall } from '@countersign/protocol';
import type { CallContext, Executor, ToolResult } from '../executor.ts';
import type { IsolatingStarter } from '../isolation/process-starter.ts';
import type { Workspace } from '../workspace.ts';
import { commandConfinement } from './command-confinement.ts';
import { commandResult } from './command-result.ts';
import { runToEnd } from './run-to-end.ts';
import { RunningCalls } from './running-calls.ts';

/** execute_command: one program, no shell, in isolation (RN-4). */
export class CommandExecutor implements Executor {
  readonly tools = ['execute_command'] as const;
  readonly #workspace: Workspace;
  readonly #starter: IsolatingStarter;
  readonly #running = new RunningCalls();

  constructor(workspace: Workspace, starter: IsolatingStarter) {
    this.#workspace = workspace;
    this.#starter = starter;
  }

  async execute(call: BuiltInToolCall, context: CallContext): Promise<ToolResult> {
    if (call.tool !== 'execute_command') throw new TypeError(`CommandExecutor does not know ${call.tool}`);
    const { command, args, timeout } = call.params;
    const { limits } = this.#workspace;
    const timeoutSeconds = Math.min(timeout, limits.commandTimeoutMaxSeconds);
    const request = {
      program: command,
      args,
      cwd: '',
      confinement: commandConfinement(context, command, args),
      stdin: 'ignore',
    } as const;
    const ending = await this.#running.track(context.signal, (signal) =>
      runToEnd(this.#starter, request, {
        timeoutSeconds,
        outputBytes: limits.outputStreamBytes,
        signal,
        onProgress: context.onProgress,
        onProcess: context.onProcess,
      }),
    );
    const limit = limits.commandTimeoutMaxSeconds;
    return commandResult(command, ending, { timeout: timeoutSeconds, limit });
  }

  async dispose(): Promise<void> {
    await this.#running.cancelAll();
  }
}
