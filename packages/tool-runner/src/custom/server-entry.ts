import { hash } from 'node:crypto';
import {
  canonicalJson,
  describeIssues,
  makeVisible,
  type RiskLevel,
  riskLevelSchema,
} from '@countersign/protocol';
import { z } from 'zod';
import { visibleName } from '../preview/look.ts';

/** The owner of the configuration. A workspace's server starts only after the person has allowed it on this machine. */
export type ServerOwner = 'person' | 'workspace';

/** One valid server of `mcpServers`. */
export interface ServerEntry {
  /** The first part of the names of its tools. */
  readonly name: string;
  readonly owner: ServerOwner;
  readonly reach:
    | {
        readonly kind: 'stdio';
        readonly command: string;
        readonly args: readonly string[];
        readonly env: Readonly<Record<string, string>>;
        /** Workspace-relative. */
        readonly cwd: string;
      }
    | {
        readonly kind: 'http';
        readonly url: string;
        readonly headers: Readonly<Record<string, string>>;
      };
  readonly network: boolean;
  /** Risk levels that the person chose, by the tool's own name. */
  readonly risk: ReadonlyMap<string, RiskLevel>;
  /** What its process may do in the workspace. */
  readonly workspace: 'write' | 'read' | 'none';
  /** Folders beside the workspace that it may read. */
  readonly readable: readonly string[];
  readonly timeoutSeconds: number;
  readonly isDisabled: boolean;
  /** Digest of the whole entry as it is in the file. */
  readonly digest: string;
}

/** Long enough for a deployment; the person may raise it to an hour. */
const DEFAULT_TIMEOUT_SECONDS = 300;
const MAX_SERVERS = 50;

const ownSchema = z.strictObject({
  network: z.boolean().default(false),
  risk: z.record(z.string(), riskLevelSchema).default({}),
  disabled: z.boolean().default(false),
  workspace: z.enum(['write', 'read', 'none']).default('write'),
  readable: z.array(z.string().startsWith('/', 'not an absolute path')).default([]),
  timeout_seconds: z.int().min(1).max(3600).default(DEFAULT_TIMEOUT_SECONDS),
});

/**
 * Variables that decide what programs load, or where things are in isolation. A server may not set them, because
 * bubblewrap, which starts it, gets the same environment.
 */
const refusedVariable =
  /^(LD_|DYLD_|BASH|ENV$|SHELLOPTS$|PS4$|IFS$|GCONV_PATH$|GLIBC_TUNABLES$|LOCPATH$|NLSPATH$|MALLOC_|GETCONF_DIR$|RES_OPTIONS$|HOSTALIASES$|LOCALDOMAIN$|COUNTERSIGN_|PATH$|HOME$|TMPDIR$)/;

const text = z
  .string()
  .max(32_768)
  .refine((value) => !value.includes('\0'), 'has a NUL character');
/** Not strict, because other programs add their own fields. */
const entrySchema = z.object({
  type: z.string().optional(),
  command: text.min(1).optional(),
  args: z.array(text).max(256).default([]),
  env: z
    .record(
      z
        .string()
        .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'not the name of a variable')
        .refine((name) => !refusedVariable.test(name), 'may not be set for a server'),
      text,
    )
    .default({}),
  cwd: text.default(''),
  url: text.optional(),
  headers: z.record(z.string().regex(/^[A-Za-z0-9-]{1,128}$/), text).default({}),
  disabled: z.boolean().default(false),
  countersign: ownSchema.prefault({}),
});

/** A configured server that cannot be used, and why. */
export interface UnusableEntry {
  readonly name: string;
  readonly owner: ServerOwner;
  readonly problem: string;
}

export interface ServerList {
  readonly entries: readonly ServerEntry[];
  readonly unusable: readonly UnusableEntry[];
}

/** Reads `{"mcpServers": {…}}`. An invalid entry does not affect the others. */
export function readServerList(json: string, owner: ServerOwner, root: string): ServerList {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    return broken(owner, `it is not JSON: ${(error as Error).message}`);
  }
  const file = z.object({ mcpServers: z.record(z.string(), z.unknown()).default({}) }).safeParse(value);
  if (!file.success) return broken(owner, describeIssues(file.error));
  const entries: ServerEntry[] = [];
  const unusable: UnusableEntry[] = [];
  for (const [title, raw] of Object.entries(file.data.mcpServers)) {
    const entry = readEntry(title, raw, owner, root);
    const problem =
      typeof entry === 'string'
        ? entry
        : entries.some(({ name }) => name === entry.name)
          ? `another server is called ${entry.name} already`
          : entries.length >= MAX_SERVERS
            ? `there are more than ${MAX_SERVERS} servers`
            : undefined;
    if (problem !== undefined) unusable.push({ name: shownName(title), owner, problem });
    else entries.push(entry as ServerEntry);
  }
  return { entries, unusable };
}

/** `__` separates a server's name from its tool's, so an underscore becomes a hyphen. */
const callName = (title: string): string => title.replaceAll(/[_ .]+/g, '-');

const shownName = (title: string): string => makeVisible(title.slice(0, 64)).replaceAll(/\s/g, ' ');

function readEntry(title: string, raw: unknown, owner: ServerOwner, root: string): ServerEntry | string {
  const name = callName(title);
  if (!/^[A-Za-z0-9][A-Za-z0-9-]{0,31}$/.test(name))
    return 'its name must be letters, digits and hyphens, at most 32';
  const parsed = entrySchema.safeParse(raw);
  if (!parsed.success) return describeIssues(parsed.error);
  const { command, args, env, cwd, url, headers, disabled, countersign } = parsed.data;
  if ((command === undefined) === (url === undefined)) return 'it needs either a command or a url';
  const folder = cwd === root ? '' : cwd.startsWith(`${root}/`) ? cwd.slice(root.length + 1) : cwd;
  if (folder.startsWith('/') || folder.split('/').includes('..'))
    return 'cwd must be a folder of the workspace';
  const badAddress = url === undefined ? undefined : problemOfAddress(url, headers);
  if (badAddress !== undefined) return badAddress;
  const isPersons = owner === 'person';
  return {
    name,
    owner,
    reach:
      url === undefined
        ? { kind: 'stdio', command: command as string, args, env, cwd: folder }
        : { kind: 'http', url, headers },
    network: countersign.network || url !== undefined,
    risk: new Map(
      Object.entries(countersign.risk)
        // The entry of a cloned repository may only raise the risk.
        .filter(([, level]) => isPersons || level === 'HIGH'),
    ),
    workspace: countersign.workspace,
    readable: isPersons ? countersign.readable : [],
    timeoutSeconds: countersign.timeout_seconds,
    isDisabled: disabled || countersign.disabled,
    digest: `sha256:${hash('sha256', canonicalJson([name, raw]))}`,
  };
}

function problemOfAddress(url: string, headers: Readonly<Record<string, string>>): string | undefined {
  const address = URL.canParse(url) ? new URL(url) : undefined;
  if (!address || !['http:', 'https:'].includes(address.protocol)) return 'its url is no http address';
  if (address.username !== '' || address.password !== '') return 'its url has a password in it; use a header';
  const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(address.hostname);
  return address.protocol === 'http:' && !isHere && Object.keys(headers).length > 0
    ? 'its headers would travel unencrypted; use https'
    : undefined;
}

const broken = (owner: ServerOwner, problem: string): ServerList => ({
  entries: [],
  unusable: [{ name: owner === 'person' ? 'mcp.json' : '.mcp.json', owner, problem }],
});

/** The command line as for a shell, or the address: masked, and with hidden and control characters made visible. */
export function describeReach(entry: ServerEntry): string {
  const { reach } = entry;
  const line =
    reach.kind === 'http' ? visibleName(reach.url) : [reach.command, ...reach.args].map(quoted).join(' ');
  return shownMaskerOf(entry)(line);
}

/** Masks the secrets of a person's own entry. A workspace's entry contains none, and the person must see all of it. */
export const shownMaskerOf = (entry: ServerEntry): ((text: string) => string) =>
  maskerOf(entry.owner === 'person' ? secretsOf(entry) : []);

const quoted = (word: string): string => {
  const shown = visibleName(word);
  return /^[\w@%+=:,./-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", `'\\''`)}'`;
};

/** Masks the values that the person configured as secrets in a server's output, before it is logged or sent. */
export function maskerOf(secrets: readonly string[]): (text: string) => string {
  const spellings = secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]);
  const longestFirst = [...new Set(spellings)].sort((a, b) => b.length - a.length);
  return (text) => longestFirst.reduce((masked, secret) => masked.replaceAll(secret, '[masked]'), text);
}

/** Masks every text and key of a JSON value. */
export function maskedJson<T>(value: T, mask: (text: string) => string): T {
  return JSON.parse(JSON.stringify(value), (_name, inner: unknown) => {
    if (typeof inner === 'string') return mask(inner);
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner;
    if (Object.keys(inner).every((name) => mask(name) === name)) return inner;
    return Object.fromEntries(Object.entries(inner).map(([name, of]) => [mask(name), of]));
  }) as T;
}

/**
 * The secrets of an entry: values of headers, of an address's query, of options with a name like `--token`, and of
 * variables, except a plain word or number: `production` is not a secret.
 */
export function secretsOf({ reach }: ServerEntry): readonly string[] {
  const found =
    reach.kind === 'http'
      ? [...Object.values(reach.headers).flatMap(withoutScheme), ...new URL(reach.url).searchParams.values()]
      : [
          ...Object.entries(reach.env)
            .filter(([name, value]) => secretName.test(name) || !plainWord.test(value))
            .map(([, value]) => value),
          ...reach.args.flatMap(secretOfOption),
        ];
  return found.filter((value) => value.length >= 6);
}

const secretName = /key|token|secret|passw|pwd|auth|cred|cookie|private/i;
const plainWord = /^([A-Za-z]{1,15}|\d{1,9})$/;

/** In `Bearer abc`, `abc` alone is a secret too. */
const withoutScheme = (value: string): string[] => [value, value.replace(/^\w+ +/, '')];

/** The secret in `--token=abc` or `--token abc`. */
function secretOfOption(word: string, index: number, all: readonly string[]): string[] {
  const [, name = '', value] = /^--?([\w-]+)(?:=(.*))?$/s.exec(word) ?? [];
  if (!secretName.test(name)) return [];
  const next = all[index + 1];
  if (value !== undefined) return [value];
  return next === undefined || next.startsWith('-') ? [] : [next];
}
