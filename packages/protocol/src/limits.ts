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
  /** Of one path, in UTF-8; longer ones name no file on any system we know. */
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

/** The stricter of two sets, bound by bound: how a person's or a workspace's wish joins the operator's. */
export function lowerLimits(base: Limits, wish: Partial<Limits>): Limits {
  const lowered: { -readonly [K in keyof Limits]: Limits[K] } = { ...base };
  for (const key of Object.keys(base) as (keyof Limits)[]) {
    const wanted = wish[key];
    if (wanted !== undefined && wanted >= 0 && wanted < base[key]) lowered[key] = wanted;
  }
  const { commandTimeoutDefaultSeconds, commandTimeoutMaxSeconds } = lowered;
  lowered.commandTimeoutDefaultSeconds = Math.min(commandTimeoutDefaultSeconds, commandTimeoutMaxSeconds);
  return lowered;
}
