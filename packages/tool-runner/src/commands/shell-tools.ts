import { PathValidator } from '@countersign/policy';
import { CountersignError } from '@countersign/protocol';
import type { CallContext } from '../executor.ts';
import type { ProcessRequest } from '../isolation/isolated-process.ts';
import { lookAtCommand, summarised, visibleName } from '../preview/look.ts';
import { realDisk } from '../real-disk.ts';
import type { CommandServices, ToolModule } from '../tool-module.ts';
import { commandConfinement, placeOf, runCommand } from './run-command.ts';

/** Runs a bash line and waits for its end (TL-1). */
export const shellExec: ToolModule<'shell_exec'> = {
  look: lookAtCommand,
  async execute({ params }, context, services) {
    const { command: text, timeout } = params;
    const request = await bashRequest(params, context, services);
    return runCommand({ text, name: 'The shell line', request, timeout }, services, context);
  },
};

/** Starts a bash line as a background job. */
export const shellBackground: ToolModule<'shell_background'> = {
  look: lookAtCommand,
  async execute({ params }, context, services) {
    const request = await bashRequest(params, context, services);
    return { success: true, job_id: services.jobs.start(context.sessionId, request) };
  },
};

export const shellOutput: ToolModule<'shell_output'> = {
  look: summarised(({ job_id }) => `Reads what the background job ${visibleName(job_id)} has printed.`),
  async execute({ params }, { sessionId }, { jobs }) {
    const { stdout, stderr, isRunning, exitCode, isCut, ports } = jobs.look(sessionId, params.job_id);
    const truncated = isCut ? { truncated: true } : {};
    const listening = ports.length > 0 ? { ports: [...ports] } : {};
    const state = { running: isRunning, exit_code: exitCode, ...listening };
    return { success: true, stdout, stderr, ...state, ...truncated };
  },
};

export const shellKill: ToolModule<'shell_kill'> = {
  look: summarised(({ job_id }) => `Ends the background job ${visibleName(job_id)}.`),
  async execute({ params }, { sessionId }, { jobs }) {
    return { success: true, exit_code: await jobs.end(sessionId, params.job_id) };
  },
};

async function bashRequest(
  { command, cwd = '.' }: { readonly command: string; readonly cwd?: string | undefined },
  context: CallContext,
  { workspace: { root }, starter }: CommandServices,
): Promise<ProcessRequest> {
  const checked = new PathValidator({ root, disk: realDisk }).check(cwd);
  if (!checked.ok) {
    const problem = checked.refused.reasons[0]?.why ?? '';
    throw new CountersignError(checked.refused.code, { path: cwd, kind: problem, problem });
  }
  return {
    program: 'bash',
    args: ['--noprofile', '--norc', '-c', command],
    cwd: checked.relative,
    confinement: commandConfinement(context, 'bash', []),
    place: await placeOf(context, starter),
    stdin: 'ignore',
  };
}
