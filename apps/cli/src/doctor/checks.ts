import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApiError, type Client } from '@countersign/client';
import { type PolicyOwner, readPolicyFile } from '@countersign/policy';
import { type Limits, lowerLimits, runnerCapabilities } from '@countersign/protocol';
import {
  findServer,
  type HandlerSettings,
  handlerSettingNames,
  inspectIsolation,
  personsFolders,
  readCeiling,
  readRunnerSettings,
  settingsInForce,
  settingValue,
  workspaceAt,
} from '@countersign/tool-runner';
import type { Environment } from '../command-context.ts';
import { chosenAddress, credentialsOf, type ServerAccess, serverAccess } from '../sign-in/server-access.ts';
import { failureReason } from '../sign-in/workspace-server.ts';
import type { Words } from '../words.ts';
import { programChecks } from './programs.ts';

export interface Check {
  readonly name: string;
  /** `warning`: something optional does not work; `missing`: something necessary does not work. */
  readonly state: 'ok' | 'warning' | 'missing';
  readonly says: string;
  readonly remedy?: string;
}

export interface Examination {
  readonly root: string;
  readonly server: string | undefined;
  readonly words: Words;
  readonly env: Environment;
}

/** Checks everything that a runner on this machine needs, without changing anything. */
export async function examine(about: Examination): Promise<Check[]> {
  const [server, isolation, limits] = await Promise.all([
    serverChecks(about),
    isolationChecks(about),
    limitChecks(about),
  ]);
  return [
    // The launcher has already refused a Node that is too old.
    { name: about.words.doctor.node, state: 'ok', says: process.version },
    workspaceCheck(about),
    ...server,
    ...isolation,
    ...programChecks(about, about.words),
    ceilingCheck(about),
    ...limits,
    ...policyChecks(about),
    gitCheck(about),
    languageCheck(about),
  ];
}

/** Some folders cannot be a workspace, such as one that holds the runner's own files. */
function workspaceCheck({ root, env, words: { doctor, said } }: Examination): Check {
  try {
    const { stateFolder } = workspaceAt(root, { folders: personsFolders(env) });
    return { name: doctor.workspace, state: 'ok', says: `${root} (${stateFolder})` };
  } catch (error) {
    return { name: doctor.workspace, state: 'missing', says: said(error as Error) };
  }
}

async function serverChecks({ root, server, words, env }: Examination): Promise<Check[]> {
  const { doctor, said } = words;
  let address: string;
  try {
    address = chosenAddress(server, words, env);
  } catch (error) {
    return [{ name: doctor.server, state: 'missing', says: said(error as Error) }];
  }
  const reach = await reachCheck(address, words);
  let access: ServerAccess;
  try {
    access = serverAccess(server, words, env);
  } catch (error) {
    return [reach, { name: doctor.token, state: 'missing', says: said(error as Error) }];
  }
  if (reach.state !== 'ok') {
    return [reach, { name: doctor.token, state: 'warning', says: doctor.skipped }];
  }
  const [token, runner] = await Promise.all([
    tokenCheck(access, words, env),
    runnerCheck(access.client, root, words),
  ]);
  return [reach, token, runner, await personPolicyCheck(access.client, words)].flat();
}

async function reachCheck(address: string, { doctor }: Words): Promise<Check> {
  try {
    const response = await fetch(`${address}/readyz`, { signal: AbortSignal.timeout(5_000) });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    return { name: doctor.server, state: 'ok', says: address };
  } catch (error) {
    return { name: doctor.server, state: 'missing', says: doctor.serverDown(address, failureReason(error)) };
  }
}

async function tokenCheck(
  { client, source }: ServerAccess,
  words: Words,
  env: Examination['env'],
): Promise<Check> {
  const { doctor } = words;
  const credentials = credentialsOf(words, env);
  try {
    await client.listApprovals();
  } catch (error) {
    // A runner's token may not list approvals, but it is valid.
    if (!(error instanceof ApiError && error.status === 403)) {
      const says =
        error instanceof ApiError && error.status === 401 ? doctor.tokenRefused : words.said(error as Error);
      return { name: doctor.token, state: 'missing', says };
    }
  }
  return credentials.isOpenToOthers
    ? { name: doctor.token, state: 'warning', says: doctor.tokenFileOpen(credentials.path) }
    : { name: doctor.token, state: 'ok', says: doctor.tokenFrom(source) };
}

async function runnerCheck(client: Client, root: string, { doctor }: Words): Promise<Check[]> {
  const name = doctor.runner;
  const [known, listed] = await Promise.all([
    client.listRunners().catch(() => undefined),
    client.listProjects().catch(() => undefined),
  ]);
  if (!known) return [];
  const here = known.runners.filter(({ workspace, connected }) => connected && workspace === root);
  const isPreviewing = here.some(({ capabilities }) => capabilities.includes(runnerCapabilities.preview));
  const runner: Check = isPreviewing
    ? { name, state: 'ok', says: doctor.runnerHere(root) }
    : { name, state: 'warning', says: here.length > 0 ? doctor.runnerBlind(root) : doctor.runnerNone(root) };
  // Two projects with one workspace: the runner counts as connected for both, but gets the calls of only one.
  const projects = (listed?.projects ?? []).filter(({ workspace }) => workspace === root);
  if (projects.length < 2) return [runner];
  const names = projects.map((project) => `${project.name} (${project.project_id})`).join(', ');
  return [runner, { name: doctor.workspace, state: 'warning', says: doctor.workspaceTwice(names) }];
}

async function personPolicyCheck(client: Client, { doctor }: Words): Promise<Check[]> {
  const known = await client.getPolicy().catch(() => undefined);
  if (!known) return [];
  return [{ name: doctor.policy, state: 'ok', says: doctor.policyPerson(known.policy.rules.length) }];
}

/** Checks each part of isolation. Without it everything works, but harmless commands ask too (RN-5). */
async function isolationChecks(about: Examination): Promise<Check[]> {
  const { doctor, said } = about.words;
  const { level, checks, notes } = await inspectIsolation({ workspace: workspaceOf(about) });
  const parts = checks.map(
    ({ name, works, says, remedy }): Check => ({
      name: `  ${doctor.parts[name]}`,
      state: works ? 'ok' : 'warning',
      says: said(says),
      ...(remedy !== undefined && { remedy: said(remedy) }),
    }),
  );
  const says = [`${doctor.level[level]}.`, ...notes.map(said)].join(' ');
  return [{ name: doctor.isolation, state: level === 'full' ? 'ok' : 'warning', says }, ...parts];
}

/** Undefined for a folder that cannot be a workspace. */
function workspaceOf({ root, env }: Examination): ReturnType<typeof workspaceAt> | undefined {
  try {
    return workspaceAt(root, { folders: personsFolders(env) });
  } catch {
    return undefined;
  }
}

function ceilingCheck({ root, env, words: { doctor, said } }: Examination): Check {
  const ceiling = readCeiling(personsFolders(env).config, root);
  if (!ceiling.ok) return { name: doctor.ceiling, state: 'missing', says: said(ceiling.problem) };
  return ceiling.decideHere.length === 0
    ? { name: doctor.ceiling, state: 'ok', says: doctor.ceilingNone(ceiling.path) }
    : { name: doctor.ceiling, state: 'ok', says: `${ceiling.decideHere.join(', ')} (${ceiling.path})` };
}

/** Checks the rule files on this machine: one that cannot be read stops every call. */
function policyChecks({ root, env, words: { doctor, said } }: Examination): Check[] {
  const files: [PolicyOwner, string][] = [
    ['person', join(personsFolders(env).config, 'policy.json')],
    ['workspace', join(root, '.countersign', 'policy.json')],
  ];
  const found = files.flatMap(([owner, path]): Check[] => {
    if (!existsSync(path)) return [];
    const reading = readPolicyFile(readFileSync(path, 'utf8'), owner);
    const name = doctor.policy;
    return [
      reading.ok
        ? { name, state: 'ok', says: doctor.policyFile(path, reading.policy.file.rules.length) }
        : { name, state: 'missing', says: `${path}: ${said(reading.problem)}` },
    ];
  });
  return found.length > 0 ? found : [{ name: doctor.policy, state: 'ok', says: doctor.policyNone }];
}

function gitCheck({ words: { doctor } }: Examination): Check {
  const { status, stdout } = spawnSync('git', ['--version'], { encoding: 'utf8', timeout: 5_000 });
  return status === 0
    ? { name: doctor.git, state: 'ok', says: stdout.trim() }
    : { name: doctor.git, state: 'warning', says: doctor.gitMissing };
}

function languageCheck({ words: { doctor } }: Examination): Check {
  const sampleFiles = { TypeScript: 'a.ts', Python: 'a.py' };
  const isInstalled = (file: string) => {
    try {
      return existsSync(findServer(file, []).command);
    } catch {
      return false;
    }
  };
  const missing = Object.entries(sampleFiles).flatMap(([name, file]) => (isInstalled(file) ? [] : [name]));
  return missing.length === 0
    ? { name: doctor.languages, state: 'ok', says: Object.keys(sampleFiles).join(', ') }
    : { name: doctor.languages, state: 'warning', says: doctor.languagesMissing(missing.join(', ')) };
}

/** Each setting of a runner in this workspace (RN-1, TL-3): the value in force, and where it comes from. */
async function limitChecks(about: Examination): Promise<Check[]> {
  const { root, env, words } = about;
  const { limits: name, limitFrom, limitsSaid } = words.doctor;
  const folder = personsFolders(env).config;
  let file: HandlerSettings;
  try {
    file = readRunnerSettings(folder, root).limits;
  } catch (error) {
    return [{ name, state: 'missing', says: words.said(error as Error) }];
  }
  const { runner, server } = await announcedLimits(about);
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

/** The limits that the server and this workspace's runner announced; empty if the server does not respond. */
async function announcedLimits({
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
