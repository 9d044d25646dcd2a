import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  CountersignError,
  defaultLimits,
  describeIssues,
  type LimitSettingName,
  limitSettingOf,
  limitSettings,
  timing,
} from '@countersign/protocol';
import { z } from 'zod';

const MiB = 1024 * 1024;

/** In the environment, commas separate a list. */
const list = <T extends z.ZodType>(item: T) =>
  z.preprocess((value) => (typeof value === 'string' ? splitList(value) : value), z.array(item));
const splitList = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
const flag = z.preprocess(
  (value) => (value === 'true' || value === '1' ? true : value === 'false' || value === '0' ? false : value),
  z.boolean(),
);
/** In the environment, a number is a string of digits. No other value is converted: `null` in a file would become 0. */
const number = (min: number, max: number) =>
  z.preprocess(
    (value) => (typeof value === 'string' && /^-?\d+$/.test(value.trim()) ? Number(value) : value),
    z.number().int().min(min).max(max),
  );
/** A limit of TL-3. The default is the specification's; the operator may lower and raise it. */
const limit = (name: LimitSettingName) =>
  number(limitSettings[name].min, limitSettings[name].max).default(limitSettingOf(defaultLimits, name));
const webUrl = z
  .url({ protocol: /^https?$/, abort: true })
  .refine((text) => new URL(text).username === '' && new URL(text).password === '', {
    error: 'must hold no name and no password',
    abort: true,
  });
const origin = webUrl
  .refine(
    (text) => new URL(text).origin === text.replace(/\/$/, ''),
    'must be an origin, such as https://host:port',
  )
  .transform((text) => new URL(text).origin);

/**
 * Every setting with its default and the reason for it. In the environment, `publicOrigins` is
 * COUNTERSIGN_PUBLIC_ORIGINS; in a JSON file, names are as here. `countersign serve --help` and docs/configuration.md
 * are generated from this.
 */
export const settings = {
  host: z
    .string()
    .min(1)
    .default('127.0.0.1')
    .describe('Address to listen on. Loopback, so that nobody else can reach it unless you say so.'),
  port: number(0, 65_535).default(4180).describe('Port to listen on; 0 lets the system choose.'),
  publicOrigins: list(origin)
    .default([])
    .describe(
      'Addresses that people type, such as https://countersign.example.org. Requests for any other host are refused. A loopback address needs none.',
    ),
  database: z
    .string()
    .min(1)
    .refine(
      (text) => isPostgres(text) || !/^\s*(\w[\w+.-]*:\/\/|sqlite:|file:)/i.test(text),
      'must be the path of a file, or a postgres:// URL',
    )
    .optional()
    .describe('A file for SQLite, or a postgres:// URL. Default: countersign.db in your data folder.'),
  user: z
    .string()
    .regex(/^[\x21-\x7e]{1,200}$/)
    .default('local')
    .describe('Who the printed sign-in link signs in.'),
  policyFile: z
    .string()
    .refine((path) => isAbsolute(path), 'must be an absolute path')
    .optional()
    .describe(
      'The policy file in which the rules of the person named by user are kept, for a server on their own machine: countersign up names policy.json in their configuration folder. Default: rules are kept in the database.',
    ),
  webFolder: z
    .string()
    .min(1)
    .optional()
    .describe('The built web page. Default: apps/web/dist beside the server.'),
  firstMessage: z
    .string()
    .max(4000)
    .optional()
    .describe('What the web page suggests to say first in an empty conversation.'),

  authSecret: z
    .string()
    .min(32)
    .optional()
    .describe(
      'Signs and checks HS256 tokens; at least 32 characters. On loopback one is made and kept beside the database.',
    ),
  authIssuer: webUrl.optional().describe('Accept tokens of this issuer too (the iss claim).'),
  authJwksUrl: webUrl
    .optional()
    .describe("Where the issuer's public keys are. Default: the issuer's /.well-known/jwks.json."),
  authAudience: z
    .string()
    .min(1)
    .optional()
    .describe(
      'The aud claim that tokens of the issuer must have. Needed with authIssuer: a token for another service must not work here.',
    ),
  signInHours: number(1, 24 * 366)
    .default(24 * 30)
    .describe('How long a browser that used the sign-in link stays signed in.'),
  corsOrigins: list(origin)
    .default([])
    .describe(
      'Pages of other origins that may call the API with a bearer token. None, because the web page comes from here.',
    ),
  trustProxy: flag
    .default(false)
    .describe('Take the client address from X-Forwarded-For. Only behind a proxy that sets it.'),

  bodyBytes: number(1024, 1024 * MiB)
    .default(MiB)
    .describe('Largest request body.'),
  resultBodyBytes: number(1024, 1024 * MiB)
    .default(8 * MiB)
    .describe('The same for results, progress, previews and messages: two output streams of 1 MiB, escaped.'),
  callBodyBytes: number(1024, 1024 * MiB)
    .default(128 * MiB)
    .describe('The same for tool calls and edited approvals: a file of 100 MiB.'),
  headersTimeoutSeconds: number(1, 600).default(10).describe('A request whose head takes longer is ended.'),
  requestTimeoutSeconds: number(1, 3600).default(60).describe('A request whose body takes longer is ended.'),
  requestsPerSecond: number(1, 1_000_000)
    .default(200)
    .describe('Of one token, in the long run; five times as many at once.'),
  runnerRequestsPerSecond: number(1, 1_000_000)
    .default(20_000)
    .describe('The same for results, progress and claims, which tools cause and not people.'),
  anonymousRequestsPerSecond: number(1, 1_000_000)
    .default(5)
    .describe('Of one address without a valid token; ten times as many at once.'),
  largeBodyBytesPerSecond: number(1024, 1024 * MiB)
    .default(4 * MiB)
    .describe(
      'Of one person’s tokens of one scope, in tool calls and edited approvals of more than 64 KiB, in the long run; one may be as large as callBodyBytes, and the next waits. Four times as many may be read again. Each takes its time, and others wait meanwhile.',
    ),
  maxBacklog: number(1, 1_000_000)
    .default(1_000)
    .describe(
      'While so many units wait to be written, new calls and messages get 503. Results and decisions are always taken.',
    ),
  executeWaitMs: number(0, 30_000)
    .default(250)
    .describe('How long POST /my/tools/execute waits for a result before it answers with the state.'),

  mcpHoldSeconds: number(1, 240)
    .default(45)
    .describe(
      'How long /mcp holds a call that waits for a person before it answers pending_approval. Many MCP clients give up after 60 s.',
    ),
  mcpSessions: number(1, 1_000_000)
    .default(1_000)
    .describe('Sessions of MCP clients of 2025 at once; newer clients have none.'),
  mcpSessionIdleSeconds: number(1, 7 * 24 * 3600)
    .default(1_800)
    .describe(
      'A session of /mcp that was not used for so long ends, and with it what was granted there; the next call begins a new one.',
    ),

  maxStreams: number(1, 1_000_000).default(10_000).describe('Event streams at once.'),
  maxStreamsOfPerson: number(1, 1_000_000)
    .default(1_000)
    .describe('Of these, one person’s: nobody can use up those of all others.'),
  streamBufferBytes: number(1024, 1024 * MiB)
    .default(MiB)
    .describe('A listener that has so much unread is cut off; it resumes by id.'),
  streamHeartbeatSeconds: number(1, 600)
    .default(timing.streamHeartbeatSeconds)
    .describe('A sign of life on every stream. Clients expect it at least each 15 s.'),
  shutdownSeconds: number(0, 600)
    .default(10)
    .describe('How long running requests may take when the server stops.'),

  commandTimeoutMs: limit('commandTimeoutMs').describe(
    'The longest time a command may ask for. Each runner keeps to the stricter of this and its own; so with the next five.',
  ),
  commandTimeoutDefaultMs: limit('commandTimeoutDefaultMs').describe('The same where a call names no time.'),
  fileSizeMaxBytes: limit('fileSizeMaxBytes').describe(
    'A larger file is neither read nor written. More than callBodyBytes cannot be sent.',
  ),
  readMaxBytes: limit('readMaxBytes').describe(
    'What read_file gives at a time; its result must fit resultBodyBytes.',
  ),
  outputMaxBytes: limit('outputMaxBytes').describe(
    'What is kept of each output stream of a command; both must fit resultBodyBytes.',
  ),
  entriesMax: limit('entriesMax').describe('What a listing or a search gives at most.'),

  logLevel: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .describe('debug adds arguments (masked), results and times, and every request.'),
  metricsToken: z
    .string()
    .regex(/^[A-Za-z0-9._~+/=-]{16,}$/, 'must be at least 16 letters, digits or ._~+/=-')
    .optional()
    .describe(
      'GET /metrics needs it as bearer. Without it /metrics is open on loopback and closed elsewhere.',
    ),
  payloadDays: number(1, 3650)
    .default(30)
    .describe('How long full parameters, previews and results are kept; the masked record stays.'),
  model: z
    .string()
    .regex(
      /^(manual|(anthropic|openai|openai-compatible):.+)$/,
      'must be manual, or a model of anthropic, openai or openai-compatible, such as anthropic:NAME',
    )
    .default('manual')
    .describe('provider:model of the agent; manual takes tool calls that you type and needs no key.'),
  modelUrl: webUrl.optional().describe('An OpenAI-compatible server, for models named openai-compatible:…'),
  modelKey: z
    .string()
    .min(1)
    .optional()
    .describe('A key for the provider of model, or for modelUrl; it is sent nowhere else.'),
  anthropicKey: z.string().min(1).optional().describe('For models named anthropic:…'),
  openaiKey: z.string().min(1).optional().describe('For models named openai:…'),
} as const;

/** Variables that other programs use too, under their usual names. */
const usualNames: Partial<Record<string, string>> = {
  anthropicKey: 'ANTHROPIC_API_KEY',
  openaiKey: 'OPENAI_API_KEY',
};

type Settings = typeof settings;
export type SettingName = keyof Settings;
export const settingNames = Object.keys(settings) as readonly SettingName[];
export const secretSettings: ReadonlySet<SettingName> = new Set([
  'authSecret',
  'metricsToken',
  'modelKey',
  'anthropicKey',
  'openaiKey',
]);

export type ServerConfig = {
  readonly [Name in SettingName]: z.output<Settings[Name]>;
} & { readonly database: string; readonly webFolder: string };

export const environmentName = (name: SettingName): string =>
  usualNames[name] ?? `COUNTERSIGN_${name.replace(/[A-Z]/g, (capital) => `_${capital}`).toUpperCase()}`;

export interface ConfigSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A JSON file with settings by name. */
  readonly file?: string | undefined;
  /** From the command line: these win over the environment, and the environment over the file. */
  readonly flags?: Readonly<Partial<Record<SettingName, unknown>>>;
}

/** Reads the configuration. Throws one error that lists all problems. */
export function loadConfig({ env, file, flags = {} }: ConfigSources): ServerConfig {
  const problems: string[] = [];
  const fromFile = file === undefined ? {} : readConfigFile(file, problems);
  const values: Record<string, unknown> = {};
  for (const name of settingNames) {
    const variable = environmentName(name);
    const fromEnv = env[variable] === '' ? undefined : env[variable];
    const given = flags[name] ?? fromEnv ?? fromFile[name];
    const parsed = settings[name].safeParse(given);
    const place = flags[name] !== undefined ? `--${name}` : fromEnv !== undefined ? variable : name;
    if (parsed.success) values[name] = parsed.data;
    else problems.push(`${place}: ${describeIssues(parsed.error)}`);
  }
  values.database ??= join(dataFolder(env), 'countersign.db');
  values.webFolder ??= ownWebFolder;
  const config = values as ServerConfig;
  problems.push(...conflictsBetween(config));
  if (problems.length > 0) {
    const problem = `The configuration is not valid: ${problems.join('; ')}`;
    throw new CountersignError('USAGE', { problem, help: 'countersign serve --help' });
  }
  return config;
}

/** The built-in default may exceed a lower commandTimeoutMs, which then applies instead. */
const builtInTimeoutMs = limitSettingOf(defaultLimits, 'commandTimeoutDefaultMs');

/** Problems of settings that are valid one by one, but not together. */
function conflictsBetween(config: Partial<ServerConfig>): string[] {
  const problems: string[] = [];
  const { host, authSecret, authIssuer, authAudience, authJwksUrl, publicOrigins = [] } = config;
  if (host !== undefined && !isLoopback(host)) {
    if (authSecret === undefined && authIssuer === undefined) {
      problems.push(`host: ${host} can be reached by others; set authSecret or authIssuer first`);
    }
    if (publicOrigins.length === 0) {
      problems.push(`host: ${host} can be reached by others; name the address they use in publicOrigins`);
    }
  }
  const { headersTimeoutSeconds: head, requestTimeoutSeconds: whole, model, modelUrl } = config;
  if (head !== undefined && whole !== undefined && head > whole) {
    problems.push('headersTimeoutSeconds: is more than requestTimeoutSeconds, which the head is a part of');
  }
  const { commandTimeoutMs: longest, commandTimeoutDefaultMs: usual } = config;
  if (longest !== undefined && usual !== undefined && usual > longest && usual !== builtInTimeoutMs) {
    problems.push('commandTimeoutDefaultMs: is more than commandTimeoutMs');
  }
  const { fileSizeMaxBytes: file = 0, callBodyBytes: body = file } = config;
  if (file > defaultLimits.fileBytes && file > body) {
    problems.push('fileSizeMaxBytes: is more than callBodyBytes, so such a file could not be sent');
  }
  if (model?.startsWith('openai-compatible:') && modelUrl === undefined) {
    problems.push(`modelUrl: is needed with ${model}, or nobody knows where that model is`);
  }
  if (config.policyFile !== undefined && (isPostgres(config.database ?? '') || !isLoopback(host ?? ''))) {
    problems.push(
      'policyFile: only a server on the own machine of a person, with SQLite and on loopback, uses their file',
    );
  }
  if (authIssuer !== undefined && authAudience === undefined) {
    problems.push('authAudience: is needed with authIssuer, or a token for another service would work here');
  }
  if (authIssuer === undefined && (authJwksUrl !== undefined || authAudience !== undefined)) {
    problems.push('authIssuer: is needed with authJwksUrl and authAudience');
  }
  return problems;
}

export const isPostgres = (database: string): boolean => /^postgres(ql)?:\/\//.test(database);

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);

const ownWebFolder = fileURLToPath(new URL('../../web/dist', import.meta.url));

export const dataFolder = (env: ConfigSources['env']): string =>
  join(env.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'countersign');

function readConfigFile(path: string, problems: string[]): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    problems.push(`${path}: ${error instanceof SyntaxError ? 'is not JSON' : 'cannot be read'}`);
    return {};
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    problems.push(`${path}: must hold a JSON object`);
    return {};
  }
  const unknown = Object.keys(value).filter((name) => !Object.hasOwn(settings, name));
  if (unknown.length > 0) problems.push(`${path}: there is no setting ${unknown.join(', ')}`);
  return value as Record<string, unknown>;
}

/** The configuration without secrets, for printing. */
export function maskedConfig(config: ServerConfig): Record<string, unknown> {
  return Object.fromEntries(
    settingNames.map((name) => {
      const value = config[name];
      if (value === undefined) return [name, null];
      if (secretSettings.has(name)) return [name, '[masked]'];
      return [name, name === 'database' ? withoutPassword(String(value)) : value];
    }),
  );
}

/** Masks whatever may be a password: before the last @, and in the query. */
const withoutPassword = (database: string): string =>
  isPostgres(database)
    ? database
        .replace(/^(\w+:\/\/[^:@/]*:).*@/, '$1[masked]@')
        .replaceAll(/([?&]\w*password=)[^&]*/gi, '$1[masked]')
    : database;
