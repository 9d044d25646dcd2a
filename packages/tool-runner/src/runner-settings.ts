import { join } from 'node:path';
import { type PackageSource, packageSources } from '@countersign/policy';
import {
  CountersignError,
  describeIssues,
  jsonValueSchema,
  parseJson,
  readNetworkHost,
} from '@countersign/protocol';
import { z } from 'zod';
import { type HandlerSettings, handlerSettingsSchema } from './handler-settings.ts';
import { type CommandLimits, commandLimitsSchema, defaultCommandLimits } from './isolation/command-limits.ts';
import { checkShownFolders, type ForbiddenFolders, refusedEntry } from './isolation/shown-folders.ts';
import type { ConfiguredServer } from './lsp/server-definition.ts';
import { readPersonsFile } from './persons-file.ts';
import { defaultTrialLimits, type TrialLimits, trialLimitsSchema } from './trial/trial-limits.ts';

const languageServerSchema = z.strictObject({
  language: z.string().min(1).max(64),
  extensions: z.array(z.string().regex(/^\.[A-Za-z0-9_+-]+$/, 'looks like .rs')).min(1),
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  initializationOptions: jsonValueSchema.optional(),
  settings: z.record(z.string(), jsonValueSchema).optional(),
  readable: z.array(z.string().startsWith('/')).optional(),
});

const folders = z
  .array(z.string().regex(/^(\/|~\/)/, 'must begin with / or ~/'))
  .max(100)
  .default([]);

/** By the name of a program, without its folder. */
const programSettings = z.record(
  z.string().regex(/^[^/]+$/, 'not the name of a program'),
  z.strictObject({ layer: z.boolean() }),
);

const networkHost = z
  .string()
  .refine((text) => readNetworkHost(text) !== undefined, 'not a host such as packages.example.org');

const settingsSchema = z.strictObject({
  version: z.literal(1),
  /** Folders outside the workspace that commands may read (RN-5). */
  readable: folders,
  /** Folders in which programs are found, before the system's. */
  path: folders,
  /** What a command may use. */
  commands: commandLimitsSchema.default(defaultCommandLimits),
  /** `layer`: false for a program that must write in the workspace itself (RN-11). */
  programs: programSettings.default({}),
  /** What a command may use while it is tried (RN-13). */
  trials: trialLimitsSchema.default(defaultTrialLimits),
  /** Variables that commands may see besides those of VA-7. */
  environment: z
    .array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'not the name of a variable'))
    .default([]),
  /** Hosts of package sources, beside those that the tools' own settings name (RN-5). */
  registries: z.partialRecord(z.enum(packageSources), z.array(networkHost)).default({}),
  language_servers: z.array(languageServerSchema).default([]),
  /** Ports of this machine that commands with network may reach, such as that of the person's own registry (RN-5). */
  reachable_ports: z.array(z.int().min(1).max(65_535)).max(20).default([]),
  /** TL-3 and RN-1: this file may lower and raise them. */
  limits: handlerSettingsSchema.default({}),
});

/** The contents of `runner.json`: the choices of this machine's operator (VA-7, RN-7, TL-3). */
export interface RunnerSettings {
  readonly readable: readonly string[];
  readonly path: readonly string[];
  readonly commands: CommandLimits;
  readonly programs: Readonly<Record<string, { readonly layer: boolean }>>;
  readonly trials: TrialLimits;
  readonly environment: readonly string[];
  readonly registries: Readonly<Partial<Record<PackageSource, readonly string[]>>>;
  readonly languageServers: readonly ConfiguredServer[];
  readonly reachablePorts: readonly number[];
  readonly limits: HandlerSettings;
}

/**
 * Reads `runner.json` from the person's configuration folder, never from the workspace. Throws USAGE for an invalid file:
 * a runner that ignored the person's settings would only seem to work.
 */
export function readRunnerSettings(configFolder: string, workspaceRoot: string): RunnerSettings {
  const path = join(configFolder, 'runner.json');
  const file = readPersonsFile(path, workspaceRoot);
  if (file.state === 'missing') return withoutFile;
  if (file.state === 'refused') throw unusable(file.problem);
  const parsed = settingsSchema.safeParse(parseJson(file.text));
  if (!parsed.success) throw unusable(`${path}: ${describeIssues(parsed.error)}`);
  const { version: _, language_servers, reachable_ports, ...rest } = parsed.data;
  return {
    ...rest,
    languageServers: language_servers as readonly ConfiguredServer[],
    reachablePorts: reachable_ports,
  };
}

const withoutFile: RunnerSettings = {
  readable: [],
  path: [],
  commands: defaultCommandLimits,
  programs: {},
  trials: defaultTrialLimits,
  environment: [],
  registries: {},
  languageServers: [],
  reachablePorts: [],
  limits: {},
};

/** Throws USAGE if the settings would show commands a sensitive folder. */
export function requireShownFolders(
  { readable, path }: Pick<RunnerSettings, 'readable' | 'path'>,
  forbidden: ForbiddenFolders,
): void {
  const refused = checkShownFolders([...path, ...readable], forbidden).find(
    (check) => check.state === 'refused',
  );
  if (refused) throw unusable(refusedEntry(refused.path, refused.problem));
}

const unusable = (problem: string): CountersignError =>
  new CountersignError('USAGE', { problem, help: 'countersign doctor' });
