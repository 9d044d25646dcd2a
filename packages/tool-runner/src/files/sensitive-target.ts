import type { PathValidator } from '@countersign/policy';
import { CountersignError } from '@countersign/protocol';

/**
 * Refuses what was opened when it is sensitive where it really is (VA-2). The policy looked at the names that lead
 * there; a link on the way may have been swapped since. `real` is below the root; `path` is what the call said.
 */
export function refuseSensitive(paths: PathValidator, real: string, path: string): void {
  const checked = paths.check(real === '' ? '.' : real);
  if (checked.ok) return;
  const { code, reasons } = checked.refused;
  const why = reasons[0]?.why ?? code;
  throw code === 'PATH_SENSITIVE'
    ? new CountersignError('PATH_SENSITIVE', { path, kind: why })
    : new CountersignError('PATH_INVALID', { path, problem: `it leads to ${why}` });
}
