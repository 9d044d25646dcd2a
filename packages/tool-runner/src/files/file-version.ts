import { hash } from 'node:crypto';
import type { FileVersion } from '../file-change.ts';

/** The version of a file with these bytes. */
export const versionOf = (bytes: Uint8Array): NonNullable<FileVersion> => `sha256:${hash('sha256', bytes)}`;
