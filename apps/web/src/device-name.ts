const systems: readonly (readonly [RegExp, string])[] = [
  [/iPhone/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Macintosh/, 'Mac'],
  [/Linux/, 'Linux'],
];

const browsers: readonly (readonly [RegExp, string])[] = [
  [/Edg\//, 'Edge'],
  [/Firefox\//, 'Firefox'],
  [/Chrom(e|ium)\//, 'Chrome'],
  [/Safari\//, 'Safari'],
];

/** The name that other devices show for a decision made here: "Chrome on Linux". */
export function deviceName(userAgent: string): string {
  const nameIn = (names: typeof systems) => names.find(([pattern]) => pattern.test(userAgent))?.[1];
  const browser = nameIn(browsers) ?? 'browser';
  const system = nameIn(systems);
  return system === undefined ? browser : `${browser} on ${system}`;
}
