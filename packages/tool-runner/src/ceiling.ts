import { join } from 'node:path';
import { type RiskLevel, riskLevelSchema } from '@countersign/protocol';
import { readPersonsFile } from './persons-file.ts';

/** What needs a decision made on this machine, whatever the server says (RN-2). */
export type Ceiling =
  | { readonly ok: true; readonly path: string; readonly decideHere: readonly RiskLevel[] }
  /** The file exists but is not valid: until it is corrected, nothing above LOW runs. */
  | { readonly ok: false; readonly path: string; readonly problem: string };

/** Reads `ceiling.json` of the person's configuration folder; without one, the server's word is enough. */
export function readCeiling(configFolder: string, workspaceRoot: string): Ceiling {
  const path = join(configFolder, 'ceiling.json');
  const file = readPersonsFile(path, workspaceRoot);
  if (file.state === 'missing') return { ok: true, path, decideHere: [] };
  if (file.state === 'refused') return { ok: false, path, problem: file.problem };
  try {
    return { ok: true, path, decideHere: parseCeiling(JSON.parse(file.text)) };
  } catch {
    const problem = `${path} is not valid; it looks like {"version": 1, "decide_here": ["HIGH"]}`;
    return { ok: false, path, problem };
  }
}

/** Throws what is not `{"version": 1, "decide_here": [levels]}`, a misspelt field included. */
function parseCeiling(value: unknown): RiskLevel[] {
  const { version, decide_here, ...others } = value as Record<string, unknown>;
  if (version !== 1 || Object.keys(others).length > 0) throw new Error('not a ceiling');
  return riskLevelSchema.array().parse(decide_here);
}
