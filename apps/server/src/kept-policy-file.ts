import { type KeptPolicyFile, Refusal } from '@countersign/engine';
import { CountersignError } from '@countersign/protocol';
import { PersonsPolicyFile } from '@countersign/tool-runner/policy-file';
import type { ServerConfig } from './config.ts';

/** The policy file that holds the person's rules, if the server runs on their own machine (docs/decisions/0027). */
export function keptPolicyFile({
  policyFile: path,
  user: userId,
}: Pick<ServerConfig, 'policyFile' | 'user'>): KeptPolicyFile | undefined {
  if (path === undefined) return undefined;
  const file = new PersonsPolicyFile(path);
  return {
    userId,
    path,
    stamp: () => file.stamp(),
    read() {
      const reading = file.read();
      return reading.ok ? { ok: true, policy: reading.policy.file } : reading;
    },
    update(change) {
      try {
        return file.update(change);
      } catch (error) {
        if (!(error instanceof CountersignError)) throw error;
        throw new Refusal(error.code, error.values);
      }
    },
  };
}
