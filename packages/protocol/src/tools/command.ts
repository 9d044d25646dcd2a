import { z } from 'zod';
import { errorCodeSchema } from '../errors.ts';
import { defaultLimits, type Limits } from '../limits.ts';
import { changesOfCommand, defineToolRow, shown } from './definition.ts';

/** Also where a result is too long for its event, and in lists without results. */
export const exitCodeSchema = z.int().describe('How a command ended, where it ended by itself.');

/**
 * What every command, with or without a shell, comes back with (TL-2). One that ended by itself has an exit code and no
 * error, whatever the code is: `grep` without a match did its work. One that ran out of time or was killed failed, with
 * `error` and `code` like every failure, and still says what it had printed.
 */
export const commandResult = z
  .strictObject({
    success: z.boolean().describe('True when the command ended with exit code 0.'),
    stdout: z.string(),
    stderr: z.string(),
    exit_code: exitCodeSchema.nullable().describe('Null when it was stopped or a signal ended it.'),
    execution_time: z.number().nonnegative().describe('Seconds.'),
    truncated: z.boolean().optional().describe('True when output was cut; the text says where and how much.'),
    ...changesOfCommand,
    error: z.string().optional().describe('Of a failure: what happened and what to do next.'),
    code: errorCodeSchema.optional().describe('Of a failure: COMMAND_FAILED, COMMAND_TIMEOUT …'),
  })
  .refine(
    ({ success, exit_code, error, code }) =>
      success === (exit_code === 0) &&
      (exit_code === null) === (error !== undefined) &&
      (exit_code === null) === (code !== undefined),
    {
      error:
        'success means exit code 0; error and code are there where there is no exit code, and only there',
    },
  );

/** More than the maximum parses: SizeLimiter refuses it with its own code, and the operator may have raised it. */
export const timeoutParameter = z
  .int()
  .min(1)
  .default(defaultLimits.commandTimeoutDefaultSeconds)
  .meta(timeoutBounds(defaultLimits));

/** What the limits in force say of `timeout` in its JSON Schema. */
export function timeoutBounds({ commandTimeoutDefaultSeconds, commandTimeoutMaxSeconds }: Limits) {
  return {
    default: commandTimeoutDefaultSeconds,
    maximum: commandTimeoutMaxSeconds,
    description: `Seconds until the command is stopped, at most ${commandTimeoutMaxSeconds}.`,
  };
}

export const commandTools = [
  defineToolRow({
    name: 'execute_command',
    category: 'command',
    description:
      'Run one program without a shell, in the workspace root. Allowed: grep find locate ls cat head tail wc gcc python python3 node npm git zip unzip tar echo date pwd whoami.',
    parameters: z.strictObject({
      command: z.string().min(1).describe('The name of the program alone, such as npm.'),
      args: z.array(z.string()).default([]).describe('Its arguments, one each; nothing is expanded.'),
      timeout: timeoutParameter,
    }),
    result: commandResult,
    baseRisk: 'MEDIUM',
    mayRunUnasked: true,
    kind: 'execute',
    changes: 'anything',
    wants: ({ command, args }) => `run ${shown(command, args)}`,
  }),
] as const;
