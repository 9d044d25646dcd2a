import { posix } from 'node:path';
import type { PolicyDecision } from '@countersign/policy';
import { digestOf } from '../digests.ts';
import type { CallRequest } from './call-request.ts';

/** Parameters that are paths of the workspace, in whatever tool. */
const pathParameters: ReadonlySet<string> = new Set(['path', 'source', 'dest', 'cwd', 'files']);

/**
 * Recognises the same call however it is spelt (AG-3): with its defaults written out or not, `./a.md` or `a.md`, or by
 * an absolute path.
 */
export function digestOfCall(
  { toolName, toolParams, project }: CallRequest,
  { call }: PolicyDecision,
): string {
  if (!call) return digestOf([toolName, toolParams]);
  const root = project.workspace ?? '/';
  const plain = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(plain);
    return typeof value === 'string' ? posix.resolve(root, value) : value;
  };
  const params = Object.entries(call.params).map(([name, value]) => [
    name,
    pathParameters.has(name) ? plain(value) : value,
  ]);
  return digestOf([call.tool, Object.fromEntries(params)]);
}
