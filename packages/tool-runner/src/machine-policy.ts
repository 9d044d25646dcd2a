import { join } from 'node:path';
import { readPolicyFile } from '@countersign/policy';
import { type MachinePolicy, withoutExamples } from '@countersign/protocol';
import { readPersonsFile } from './persons-file.ts';

/** A larger policy is not reported: it makes this machine stricter, and the server does not know its allow rules. */
const MAX_REPORTED_BYTES = 256 * 1024;

/** The person's policy file on this machine, as it is sent to the server (RK-5); empty if there is none. */
export function readMachinePolicy(configFolder: string, workspaceRoot: string): MachinePolicy {
  const path = join(configFolder, 'policy.json');
  const file = readPersonsFile(path, workspaceRoot);
  if (file.state === 'missing') return {};
  if (file.state === 'refused') return { problem: file.problem };
  const reading = readPolicyFile(file.text, 'person');
  if (!reading.ok) return { problem: `${path}: ${reading.problem}`.slice(0, 2000) };
  const policy = withoutExamples(reading.policy.file);
  if (Buffer.byteLength(JSON.stringify(policy)) <= MAX_REPORTED_BYTES) return { policy };
  return {
    problem: `${path} has more than ${MAX_REPORTED_BYTES} bytes of rules; the server is not told of them`,
  };
}
