import type { PolicyFile } from '@countersign/protocol';

export type PolicyOnDisk =
  | { readonly ok: true; readonly policy: PolicyFile }
  /** The file exists and cannot be used. */
  | { readonly ok: false; readonly problem: string };

/**
 * The policy file of the person on whose machine the server runs (RK-5, docs/decisions/0027). It is where their rules are
 * kept; the database has a copy with a version. Other programs change the file too.
 */
export interface KeptPolicyFile {
  readonly userId: string;
  readonly path: string;
  /** Differs when the file may have changed. */
  stamp(): string;
  read(): PolicyOnDisk;
  /** Changes the newest content and returns the result. Throws, and changes nothing, if either is not valid. */
  update(change: (policy: PolicyFile) => PolicyFile): PolicyFile;
}

/** Everything of both; where they differ, `first` counts. */
export function mergePolicies(first: PolicyFile, second: PolicyFile): PolicyFile {
  const ids = new Set(first.rules.map(({ id }) => id));
  const names = new Set(first.programs?.map(({ name }) => name));
  const programs = [
    ...(first.programs ?? []),
    ...(second.programs ?? []).filter(({ name }) => !names.has(name)),
  ];
  const paths = [...new Set([...(first.sensitive_paths ?? []), ...(second.sensitive_paths ?? [])])];
  return {
    version: 1,
    rules: [...first.rules, ...second.rules.filter(({ id }) => !ids.has(id))],
    ...(programs.length > 0 && { programs }),
    ...(paths.length > 0 && { sensitive_paths: paths }),
  };
}
