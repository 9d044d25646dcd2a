import { PathValidator } from '@countersign/policy';
import { CountersignError } from '@countersign/protocol';
import type { CallContext } from '../executor.ts';
import type { Confinement, ProcessRequest } from '../isolation/isolated-process.ts';
import { lookAtCommand, summarised, visibleName } from '../preview/look.ts';
import { realDisk } from '../real-disk.ts';
import type { CommandServices, ShellServices, ToolModule } from '../tool-module.ts';
import { gitFactsOf, runPlainCommand } from './fetching-command.ts';
import { writesOfLine, writesOfLineInLayer } from './git-writes.ts';
import { plainWords } from './plain-words.ts';
import { commandConfinement, placeOf, programsOf, runCommand } from './run-command.ts';

/** Runs a bash line and waits for its end (TL-1). */
export const shellExec: ToolModule<'shell_exec'> = {
  async look(call, decision, services) {
    const facts = await gitFactsOf(plainCall(call.params), call, decision, services);
    return lookAtCommand(call, decision, services, facts);
  },
  triedCall({ params }, { details }, services) {
    const writableGit = writesOfLineInLayer(params.command, details);
    const programs = programsOf({ program: 'bash' }, details);
    return { ...bashProgram(params, services), name: 'The shell line', writableGit, programs };
  },
  async execute({ params }, context, services) {
    const { command: text, timeout } = params;
    const plain = await bashRequest(params, context, services, writesOfLine(text, context.details));
    const request = await withSafeGit(plain, text, context, services);
    const gitInLayer = writesOfLineInLayer(text, context.details);
    const line = { text, name: 'The shell line', request, gitInLayer, timeout };
    const words = plainCall(params);
    return words ? runPlainCommand(words, line, services, context) : runCommand(line, services, context);
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

/** If a line that may run unasked contains `git`, git is configured to start no program of the repository (RN-6). */
async function withSafeGit(
  request: ProcessRequest,
  line: string,
  { riskLevel, signal }: CallContext,
  { git }: ShellServices,
): Promise<ProcessRequest> {
  if (riskLevel !== 'LOW' || !/\bgit\b/.test(line)) return request;
  const { environment, readable } = await git.forLine(signal);
  return { ...request, environment, confinement: { ...request.confinement, readable } };
}

type ShellLine = { readonly command: string; readonly cwd?: string | undefined };

/** The words of a line that is one plain command in the root of the workspace. */
const plainCall = ({ command, cwd = '.' }: ShellLine): readonly string[] | undefined =>
  cwd === '.' || cwd === '' ? plainWords(command) : undefined;

async function bashRequest(
  params: ShellLine,
  context: CallContext,
  services: CommandServices,
  writableGit?: Confinement['writableGit'],
): Promise<ProcessRequest> {
  return {
    ...bashProgram(params, services),
    confinement: commandConfinement({ params }, context, services, writableGit),
    place: await placeOf(context, services.starter),
    stdin: 'ignore',
  };
}

function bashProgram(
  { command, cwd = '.' }: ShellLine,
  { workspace: { root } }: Pick<CommandServices, 'workspace'>,
): Pick<ProcessRequest, 'program' | 'args' | 'cwd'> {
  const checked = new PathValidator({ root, disk: realDisk }).check(cwd);
  if (!checked.ok) {
    const problem = checked.refused.reasons[0]?.why ?? '';
    throw new CountersignError(checked.refused.code, { path: cwd, kind: problem, problem });
  }
  return {
    program: 'bash',
    args: ['--noprofile', '--norc', '-c', command],
    cwd: checked.relative,
  };
}
