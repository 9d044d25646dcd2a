import { z } from 'zod';

/**
 * The limits of TL-3. Anybody may lower them, only the operator may raise them.
 */
export interface Limits {
  readonly fileBytes: number;
  readonly readChunkBytes: number;
  readonly outputStreamBytes: number;
  readonly commandTimeoutDefaultSeconds: number;
  readonly commandTimeoutMaxSeconds: number;
  readonly entries: number;
  /** The longest path, in bytes of UTF-8. */
  readonly pathBytes: number;
  /** The longest component of a path, in bytes of UTF-8, as in the file systems of Linux, macOS and Windows. */
  readonly nameBytes: number;
  /** The longest shell line, or the longest arguments of a command together. */
  readonly commandCharacters: number;
  /** The longest glob or regular expression. */
  readonly patternCharacters: number;
}

const MiB = 1024 * 1024;

export const defaultLimits: Limits = {
  fileBytes: 100 * MiB,
  readChunkBytes: 1 * MiB,
  outputStreamBytes: 1 * MiB,
  commandTimeoutDefaultSeconds: 30,
  commandTimeoutMaxSeconds: 300,
  entries: 1_000,
  pathBytes: 4_096,
  nameBytes: 255,
  commandCharacters: 128 * 1024,
  patternCharacters: 1_000,
};

/** How much a runner keeps to undo the calls of one workspace: the copies of the oldest calls go first (RN-12). */
export const undoStoreBytes = 1024 * MiB;

/** The base with each limit that `wish` lowers. A person or a workspace cannot raise the operator's limits. */
export function lowerLimits(base: Limits, wish: Partial<Limits>): Limits {
  const lowered: { -readonly [K in keyof Limits]: Limits[K] } = { ...base };
  for (const key of Object.keys(base) as (keyof Limits)[]) {
    const wanted = wish[key];
    if (wanted !== undefined && wanted >= 0 && wanted < base[key]) lowered[key] = wanted;
  }
  return withDefaultInMaximum(lowered);
}

function withDefaultInMaximum(limits: Limits): Limits {
  const { commandTimeoutDefaultSeconds, commandTimeoutMaxSeconds } = limits;
  return {
    ...limits,
    commandTimeoutDefaultSeconds: Math.min(commandTimeoutDefaultSeconds, commandTimeoutMaxSeconds),
  };
}

/**
 * The settings that change the limits of TL-3, with the same names in `runner.json`, in VS Code and in the server's
 * configuration. `max` is the highest value for an operator: a command has an hour of processor time, and a file must fit
 * into one string. `min` is the lowest value that works: each read must return at least one character.
 */
export const limitSettings = {
  commandTimeoutMs: { bound: 'commandTimeoutMaxSeconds', unit: 1000, min: 1000, max: 3_600_000 },
  commandTimeoutDefaultMs: { bound: 'commandTimeoutDefaultSeconds', unit: 1000, min: 1000, max: 3_600_000 },
  fileSizeMaxBytes: { bound: 'fileBytes', unit: 1, min: 1, max: 256 * MiB },
  readMaxBytes: { bound: 'readChunkBytes', unit: 1, min: 1024, max: 16 * MiB },
  outputMaxBytes: { bound: 'outputStreamBytes', unit: 1, min: 1024, max: 16 * MiB },
  entriesMax: { bound: 'entries', unit: 1, min: 1, max: 100_000 },
} as const satisfies Record<string, { bound: keyof Limits; unit: number; min: number; max: number }>;

export type LimitSettingName = keyof typeof limitSettings;
type LimitSettings = { readonly [Name in LimitSettingName]?: number | undefined };
export const limitSettingNames = Object.keys(limitSettings) as readonly LimitSettingName[];

/** The limit that a setting changes, in the unit of the setting. */
export const limitSettingOf = (limits: Limits, name: LimitSettingName): number =>
  limits[limitSettings[name].bound] * limitSettings[name].unit;

/** Limits with an operator's settings, which may raise them. */
export function limitsOfOperator(settings: LimitSettings, base: Limits = defaultLimits): Limits {
  return withDefaultInMaximum({ ...base, ...boundsOf(settings) });
}

/** Limits with the settings of a person or workspace. A setting that would raise a limit is ignored. */
export const limitsLoweredBy = (base: Limits, settings: LimitSettings): Limits =>
  lowerLimits(base, boundsOf(settings));

function boundsOf(settings: LimitSettings): Partial<Limits> {
  const bounds: { -readonly [K in keyof Limits]?: Limits[K] } = {};
  for (const name of limitSettingNames) {
    const { bound, unit } = limitSettings[name];
    const value = settings[name];
    if (value !== undefined) bounds[bound] = Math.floor(value / unit);
  }
  return bounds;
}

/** The limits that runner and server send each other (TL-3). The stricter of both apply. */
export const sentLimitsSchema = z.partialRecord(
  z.enum(limitSettingNames.map((name) => limitSettings[name].bound)),
  z.int().nonnegative(),
);

export const sentLimits = (limits: Limits): z.infer<typeof sentLimitsSchema> =>
  Object.fromEntries(
    limitSettingNames.map((name) => [limitSettings[name].bound, limits[limitSettings[name].bound]]),
  );
