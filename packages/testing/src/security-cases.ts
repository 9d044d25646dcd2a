import { readFileSync } from 'node:fs';

export interface SecurityCase {
  readonly id: string;
  readonly class: string;
  readonly input: {
    readonly tool: string;
    readonly command?: string;
    readonly args?: unknown;
    readonly cwd?: string;
    readonly setup?: readonly SetupStep[];
    readonly race?: {
      readonly path: string;
      readonly alternate: readonly string[];
      readonly iterations: number;
    };
    readonly assert?: { readonly must_not_contain?: string; readonly max_ms?: number };
    readonly platform?: string;
  };
  readonly expect: 'LOW' | 'MEDIUM' | 'HIGH' | 'NOT_LOW' | 'REJECT' | 'NOT_REJECT' | 'ALLOW';
  readonly why: string;
}

export interface SetupStep {
  readonly op:
    | 'file'
    | 'dir'
    | 'symlink'
    | 'bytes'
    | 'sparse'
    | 'fifo'
    | 'socket'
    | 'repeat_file'
    | 'deep_tree'
    | 'workspace_via_symlink';
  readonly path: string;
  readonly content?: string;
  readonly target?: string;
  readonly base64?: string;
  readonly size?: number;
}

/** The folder of the cases in this repository. */
export const securityFolder = new URL('../security/', import.meta.url);

/** All cases of one file of `security/`, e.g. `commands`. */
export function securityCases(name: 'commands' | 'shell' | 'paths'): SecurityCase[] {
  return readFileSync(new URL(`${name}.jsonl`, securityFolder), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as SecurityCase);
}

/** True if a decision satisfies what a case expects. ALLOW is for whole calls: here it means "not refused". */
export function meetsExpectation(decision: string, expected: SecurityCase['expect']): boolean {
  if (expected === 'NOT_LOW') return decision !== 'LOW';
  if (expected === 'NOT_REJECT' || expected === 'ALLOW') return decision !== 'REJECT';
  return decision === expected;
}
