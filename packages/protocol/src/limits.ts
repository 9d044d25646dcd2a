import { z } from 'zod';

/**
 * Every bound of TL-3, in one place. Anybody may lower them, only the operator may raise them.
 * Sizes are bytes unless the name says otherwise.
 */
export interface Limits {
  readonly fileBytes: number;
  readonly readChunkBytes: number;
  readonly outputStreamBytes: number;
  readonly commandTimeoutDefaultSeconds: number;
  readonly commandTimeoutMaxSeconds: number;
  readonly entries: number;
  /** The longest path, in bytes of UTF-8. No system we know has longer ones. */
  readonly pathBytes: number;
  /** Of one component of a path, in UTF-8: what Linux, macOS and Windows file systems take at most. */
  readonly nameBytes: number;
  /** Characters of a shell line or of all arguments of a command together. */
  readonly commandCharacters: number;
  /** Characters of a glob or regular expression. */
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

/** The lower of two sets of limits, limit by limit: a person or a workspace may only lower the operator's. */
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
 * The settings by which people change the bounds of TL-3: the same names in `runner.json`, in VS Code and in the
 * server's configuration. `max` is as far as an operator may go: a command has an hour of processor time, and a file
 * must fit into one text. Below `min` nothing works: what is read at a time must hold at least one character.
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
export type LimitSettings = { readonly [Name in LimitSettingName]?: number | undefined };
export const limitSettingNames = Object.keys(limitSettings) as readonly LimitSettingName[];

/** The bound that a setting changes, in the setting's own unit. */
export const limitSettingOf = (limits: Limits, name: LimitSettingName): number =>
  limits[limitSettings[name].bound] * limitSettings[name].unit;

/** Limits with an operator's settings, which may also raise them. */
export function limitsOfOperator(settings: LimitSettings, base: Limits = defaultLimits): Limits {
  return withDefaultInMaximum({ ...base, ...boundsOf(settings) });
}

/** Limits with anybody's settings: a setting may lower a limit; one that would raise it is ignored. */
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

/** Bounds as a runner and the server tell each other (TL-3): the stricter of both is in force. */
export const toldLimitsSchema = z.partialRecord(
  z.enum(limitSettingNames.map((name) => limitSettings[name].bound)),
  z.int().nonnegative(),
);

/** The limits that can be set, as runner and server tell each other. */
export const toldLimits = (limits: Limits): z.infer<typeof toldLimitsSchema> =>
  Object.fromEntries(
    limitSettingNames.map((name) => [limitSettings[name].bound, limits[limitSettings[name].bound]]),
  );
