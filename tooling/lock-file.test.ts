import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { findMissingPackages, lockEntryFor } from './complete-lock.mjs';

const lock = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')) as {
  packages: Record<
    string,
    { version?: string; resolved?: string; link?: boolean; hasInstallScript?: boolean }
  >;
};

it('has an entry for every optional package (`npm ci` refuses it otherwise; `npm run lock` adds them)', () => {
  expect(findMissingPackages(lock.packages)).toEqual([]);
});

it('names no host, so that every machine can use its own registry', () => {
  const hosts = Object.values(lock.packages).filter(
    ({ resolved, link }) => resolved !== undefined && link !== true,
  );
  expect(hosts).toEqual([]);
});

it('finds the packages that npm left out', () => {
  const packages = {
    'node_modules/tool': {
      dev: true,
      optionalDependencies: { 'tool-linux-x64': '1.0.0', 'tool-darwin-arm64': '1.0.0' },
    },
    'node_modules/tool-linux-x64': { version: '1.0.0' },
  };
  expect(findMissingPackages(packages)).toEqual([
    { name: 'tool-darwin-arm64', version: '1.0.0', wantedBy: 'node_modules/tool', dev: true },
  ]);
});

it.each([
  ['@biomejs/cli-linux-x64-musl', { os: ['linux'], cpu: ['x64'], libc: ['musl'] }],
  ['@rolldown/binding-linux-arm64-gnu', { os: ['linux'], cpu: ['arm64'], libc: ['glibc'] }],
  ['@rolldown/binding-android-arm-eabi', { os: ['android'], cpu: ['arm'] }],
  ['@rolldown/binding-wasm32-wasi', { cpu: ['wasm32'] }],
])('knows the platform of %s', (name, platform) => {
  const missing = { name, version: '1.0.0', wantedBy: 'node_modules/tool', dev: false };
  expect(lockEntryFor(missing)).toEqual({ version: '1.0.0', optional: true, ...platform });
});

it('throws when a name says no platform', () => {
  const missing = { name: 'fsevents', version: '1.0.0', wantedBy: 'node_modules/tool', dev: false };
  expect(() => lockEntryFor(missing)).toThrow('The name of fsevents does not say its platform.');
});
