export type { CallAssessment, CommandOperand, SimpleCommand } from './call-assessment.ts';
export { CERTIFICATE_BYTES, holdsOnlyCertificates, mayBeCertificate } from './certificate.ts';
export { CommandValidator } from './command/command-validator.ts';
export { isHarmlessCommand } from './command/harmless-commands.ts';
export { type CustomTools, customToolsOf, IMPLICIT_ALLOW_RULE } from './custom/assess-custom-call.ts';
export { executingPlaces } from './executing-places.ts';
export { fileKindOf, SNIFF_BYTES } from './file-kind.ts';
export { escapeGlob, type Glob, globOfPath, parseGlob } from './glob.ts';
export { type GrantedCall, grantAsRule, ruleOfGrant } from './grant.ts';
export {
  type NetworkNeeds,
  networkNeeds,
  type PackageSource,
  packageSources,
} from './network-needs.ts';
export { type Disk, type DiskEntry, PathValidator } from './path-validator.ts';
export {
  type CompiledRule,
  compileRule,
  type LoadedPolicy,
  type PolicyOwner,
  readDamagedPolicy,
  readPolicyFile,
  rulesOnPaths,
} from './policy-rules.ts';
export { type GitCall, innerCallsOfGit, readGit } from './program/git/git-call.ts';
export { isReadOnly } from './read-only.ts';
export { isBranchName, isRemoteName } from './ref-name.ts';
export { RiskAssessor } from './risk-assessor.ts';
export { maskSecretShapes, SecretMasker } from './secret-masker.ts';
export { sensitivePlaces } from './sensitive-places.ts';
export { ShellValidator } from './shell/shell-validator.ts';
export { SizeLimiter } from './size-limiter.ts';
export { type PolicyDecision, ToolCallPolicy } from './tool-call-policy.ts';
export { uniteAllowRules } from './united-rules.ts';
export { type Allowed, isRefused, type Refused, stricter, type Verdict } from './verdict.ts';
