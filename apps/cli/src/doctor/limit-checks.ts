import { join } from 'node:path';
import { type Limits, lowerLimits } from '@countersign/protocol';
import {
  type HandlerSettings,
  handlerSettingNames,
  personsFolders,
  readRunnerSettings,
  settingsInForce,
  settingValue,
} from '@countersign/tool-runner';
import { serverAccess } from '../sign-in/server-access.ts';
import type { Check, Examination } from './checks.ts';

/** Each setting of a runner in this workspace (RN-1, TL-3): the value in force, and which place decided it. */
export async function limitChecks(about: Examination): Promise<Check[]> {
  const { root, env, words } = about;
  const { limits: name, limitFrom, limitsSaid } = words.doctor;
  const folder = personsFolders(env).config;
  let file: HandlerSettings;
  try {
    file = readRunnerSettings(folder, root).limits;
  } catch (error) {
    return [{ name, state: 'missing', says: words.said(error as Error) }];
  }
  const { runner, server } = await toldLimits(about);
  const own = settingsInForce(file, {});
  const withRunner = { ...own, limits: lowerLimits(own.limits, runner) };
  const withServer = { ...own, limits: lowerLimits(withRunner.limits, server) };
  const lines = handlerSettingNames.map((setting): Check => {
    const value = settingValue(withServer, setting);
    const from =
      value !== settingValue(withRunner, setting)
        ? limitFrom.server
        : value !== settingValue(own, setting)
          ? limitFrom.runner
          : file[setting] !== undefined
            ? join(folder, 'runner.json')
            : limitFrom.builtIn;
    return { name: `  ${setting}`, state: 'ok', says: `${value} (${from})` };
  });
  return [{ name, state: 'ok', says: limitsSaid }, ...lines];
}

/** What the server and the runner of this workspace say; nothing where nobody can be asked. */
async function toldLimits({
  root,
  server,
  words,
  env,
}: Examination): Promise<{ runner: Partial<Limits>; server: Partial<Limits> }> {
  try {
    const known = await serverAccess(server, words, env).client.listRunners();
    const runner = known.runners.find(({ workspace, connected }) => connected && workspace === root);
    return { runner: runner?.limits ?? {}, server: known.limits ?? {} };
  } catch {
    return { runner: {}, server: {} };
  }
}
