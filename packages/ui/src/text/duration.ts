import type { Words } from '../words/words.ts';

/** Formats the time left: `4:05`, or `1:04:05` from an hour on. */
export function clockTime(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const two = (n: number) => String(n).padStart(2, '0');
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

/** Formats a duration: `12 ms`, `3.4 s`, `5 min`. */
export function duration(ms: number, { units }: Pick<Words, 'units'>): string {
  if (ms < 1000) return `${Math.round(ms)} ${units.ms}`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} ${units.s}`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} ${units.min}`;
  return `${(ms / 3_600_000).toFixed(1)} ${units.h}`;
}

/** Formats a size in bytes, KiB or MiB. */
export function byteSize(bytes: number, { units }: Pick<Words, 'units'>): string {
  if (bytes < 1024) return units.bytes(bytes);
  const kilo = bytes / 1024;
  return kilo < 1024 ? `${kilo.toFixed(1)} KiB` : `${(kilo / 1024).toFixed(1)} MiB`;
}
