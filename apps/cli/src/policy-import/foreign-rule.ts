import { CountersignError, type PolicyRule } from '@countersign/protocol';
import type { Words } from '../words.ts';

export type Effect = PolicyRule['effect'];

/** Why a rule is narrower here, or cannot be translated. Each reason has a sentence in packages/words. */
export type ReasonId = keyof Words['policyImport']['reasons'];

/** What a rule of another program covers, in our terms. */
export type Wanted =
  /** `wildcards`: what `*` stands for. `words`: whole words, as they are; `open`: any further words may follow. */
  | { readonly kind: 'command'; readonly text: string; readonly wildcards: boolean; readonly open?: boolean }
  /** A list of words, each with its alternatives; any further words may follow. */
  | { readonly kind: 'words'; readonly words: readonly (readonly string[])[] }
  /** `only`: the one tool of ours that the rule allows. If left out, the rule allows both tools that write a file. */
  | { readonly kind: 'edit'; readonly glob: string; readonly only?: 'write_file' | 'edit_file' }
  | { readonly kind: 'read'; readonly glob: string }
  | { readonly kind: 'tool'; readonly tool: string }
  | { readonly kind: 'unknown'; readonly reason: ReasonId };

/** A rule as the person wrote it for another program. */
export interface ForeignRule {
  readonly file: string;
  /** The rule's original text, for the person: `Bash(npm run test:*)`. */
  readonly text: string;
  readonly effect: Effect;
  readonly wanted: Wanted;
}

export type Source = 'claude' | 'codex' | 'gemini' | 'opencode' | 'vscode';

export const untranslatable = (reason: Extract<Wanted, { kind: 'unknown' }>['reason']): Wanted => ({
  kind: 'unknown',
  reason,
});

/** IMPORT_UNREADABLE with what is wrong with the file. */
export const unreadable = (file: string, problem: string): CountersignError =>
  new CountersignError('IMPORT_UNREADABLE', { file, problem });

/** The value as an object. Throws an error that names the place if the value is something else. */
export function objectAt(value: unknown, file: string, place: string): Readonly<Record<string, unknown>> {
  if (value === undefined) return {};
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw unreadable(file, `${place} is not an object`);
  return value as Record<string, unknown>;
}

export function textsAt(value: unknown, file: string, place: string): readonly string[] {
  if (value === undefined) return [];
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string'))
    throw unreadable(file, `${place} is not a list of texts`);
  return value;
}
