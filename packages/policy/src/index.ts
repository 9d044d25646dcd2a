export type { Disk, DiskEntry } from './disk.ts';
export {
  type CheckedPath,
  type PathCheck,
  PathValidator,
  type PathValidatorOptions,
} from './path-validator.ts';
export { type Allowed, isRefused, type Refused, stricter, type Verdict } from './verdict.ts';
