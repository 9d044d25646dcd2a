import { lookAtCommand } from '../preview/look.ts';
import type { ToolModule } from '../tool-module.ts';
import { gitFactsOf, runPlainCommand } from './fetching-command.ts';
import { writesOfGit } from './git-writes.ts';
import { commandConfinement, placeOf, programsOf } from './run-command.ts';

/** Runs one program in isolation, without a shell (RN-4). */
export const executeCommand: ToolModule<'execute_command'> = {
  async look(call, decision, services) {
    const words = [call.params.command, ...call.params.args];
    return lookAtCommand(call, decision, services, await gitFactsOf(words, call, decision, services));
  },
  triedCall({ params: { command, args } }, { details }) {
    const writableGit = command === 'git' ? writesOfGit(args) : undefined;
    const programs = programsOf({ program: command }, details);
    return { name: command, program: command, args, cwd: '', writableGit, programs };
  },
  async execute({ params }, context, services) {
    const { command, args, timeout } = params;
    const place = await placeOf(context, services.starter);
    const writableGit = command === 'git' ? writesOfGit(args) : undefined;
    const confinement = commandConfinement({ params }, context, services, writableGit);
    const request = { program: command, args, cwd: '', confinement, place, stdin: 'ignore' } as const;
    const started = { text: command, name: command, request, timeout };
    return runPlainCommand([command, ...args], started, services, context);
  },
};
