import { lookAtCommand } from '../preview/look.ts';
import type { ToolModule } from '../tool-module.ts';
import { commandConfinement, placeOf, runCommand } from './run-command.ts';

/** Runs one program in isolation, without a shell (RN-4). */
export const executeCommand: ToolModule<'execute_command'> = {
  look: lookAtCommand,
  async execute({ params: { command, args, timeout } }, context, services) {
    const place = await placeOf(context, services.starter);
    const confinement = commandConfinement(context, command, args);
    const request = { program: command, args, cwd: '', confinement, place, stdin: 'ignore' } as const;
    return runCommand({ text: command, name: command, request, timeout }, services, context);
  },
};
