import type { NamedRunner } from '@countersign/engine';
import type { AuthenticatedCaller } from '../auth/authenticator.ts';
import { requireNamed } from './own-rows.ts';
import type { ServerParts } from './server-parts.ts';

/** The runner that a report is from (AP-9). What the path names and another person has is not found (RE-3). */
export async function speakerOf(
  { bindings, store }: Pick<ServerParts, 'bindings' | 'store'>,
  caller: AuthenticatedCaller,
  params: Parameters<typeof requireNamed>[2],
  named: NamedRunner,
): Promise<NamedRunner> {
  try {
    return await bindings.speaker(caller, named);
  } catch (error) {
    await requireNamed(store, caller, params);
    throw error;
  }
}
