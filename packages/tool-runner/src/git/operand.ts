import { PathValidator, sensitivePlaces } from '@countersign/policy';
import { CountersignError } from '@countersign/protocol';
import { realDisk } from '../real-disk.ts';

/** Refuses what policy refuses, at the moment of use (VA-8), and answers the path as git is to be told it. */
export function operandForGit(root: string, path: string): string {
  const checked = new PathValidator({ root, disk: realDisk }).check(path);
  if (checked.ok) return checked.named === '' ? '.' : checked.named;
  const kind = sensitivePlaces.find(path)?.kind ?? 'by where its links lead';
  throw new CountersignError(checked.refused.code, { path, kind, problem: 'git cannot use it here' });
}
