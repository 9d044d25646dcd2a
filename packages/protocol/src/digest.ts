import { sha256 as sha256OfBytes } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import type { Approval } from './approval.ts';
import type { JsonValue } from './json-value.ts';
import type { Preview } from './preview.ts';
import type { RiskLevel } from './risk.ts';

/** Hexadecimal SHA-256 of a text in UTF-8. */
export type Sha256 = (text: string) => string;

/** Works everywhere. Programs on Node pass in Node's own, which is many times faster. */
const portableSha256: Sha256 = (text) => bytesToHex(sha256OfBytes(utf8ToBytes(text)));

/**
 * JSON with the keys of every object in the order of their UTF-16 code units, so that equal values have equal texts.
 * Values are written as `JSON.stringify` writes them; a key with the value undefined is left out.
 */
export function canonicalJson(value: unknown, writeText: (text: string) => string = JSON.stringify): string {
  if (typeof value === 'string') return writeText(value);
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, writeText)).join(',')}]`;
  let text = '';
  for (const key of Object.keys(value).sort()) {
    const item = (value as Record<string, unknown>)[key];
    if (item === undefined) continue;
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(item, writeText)}`;
  }
  return `{${text}}`;
}

/** Longer texts are digested as they are: writing out a file as JSON takes three times as long as its digest. */
const LONG_TEXT = 64 * 1024;

/**
 * `sha256:` and 64 hexadecimal digits: of a value's canonical JSON and then of its long texts, each with its length in
 * UTF-16 code units. The fixtures in `fixtures/digests.json` pin it for programs in other languages.
 */
export function digestOf(value: unknown, sha256: Sha256 = portableSha256): string {
  const long: string[] = [];
  const text = canonicalJson(value, (item) => {
    // A lone surrogate would be encoded as U+FFFD, so that two texts would have one digest.
    if (item.length <= LONG_TEXT || !item.isWellFormed()) return JSON.stringify(item);
    long.push(item);
    return '#'; // never appears in JSON
  });
  return `sha256:${sha256(text + long.map((item) => `#${item.length}:${item}`).join(''))}`;
}

/** What a card shows of a call, with the runner's digest of the state of the machine (AP-8, docs/decisions/0005). */
export interface ShownCall {
  /** The runner's: call, working directory, versions of the files. Only the runner can compute it. */
  readonly digest_base: string;
  readonly tool_name: string;
  readonly tool_params: Readonly<Record<string, JsonValue>>;
  readonly risk_level: RiskLevel;
  readonly preview: Preview;
}

/** The digest that a person approves: computed alike by runner and server, and checked by each front end. */
export function shownDigest(shown: ShownCall, sha256?: Sha256): string {
  const { digest_base: base, tool_name, tool_params, risk_level, preview } = shown;
  return digestOf({ form: 2, base, tool_name, tool_params, risk_level, preview }, sha256);
}

type Card = Pick<
  Approval,
  'tool_name' | 'tool_params' | 'risk_level' | 'preview' | 'digest' | 'digest_base' | 'omitted'
>;

/**
 * Whether a card may show its preview and be approved:
 *
 * - `none`: no preview is there yet, and no digest names one;
 * - `partial`: parts were left out for their size; fetch the approval, then check again;
 * - `fits`: what is shown is what the digest names;
 * - `differs`: it is not. The preview must not be shown, and only rejecting is left.
 */
export function checkShown(card: Card, sha256?: Sha256): 'none' | 'partial' | 'fits' | 'differs' {
  const { preview, digest, digest_base, omitted } = card;
  // A runner's own card without a digest says why nothing can be approved.
  if (digest === null && (preview === null || preview.kind === 'unavailable')) return 'none';
  if (omitted?.includes('preview') || omitted?.includes('tool_params')) return 'partial';
  if (preview === null || digest === null || digest_base === null) return 'differs';
  return shownDigest({ ...card, preview, digest_base }, sha256) === digest ? 'fits' : 'differs';
}

/** Said in place of a preview that its digest does not name. */
const previewDiffers =
  'it does not fit its digest, so it is not shown and cannot be approved. Reject the call, and look at the machine that executes it';

/** A card that was checked; `unfit`: its preview was taken away, and only rejecting is left. */
export type CheckedCard<C> = C & { readonly unfit?: true };

/** The card to show: without its preview if the digest differs (AP-8). Missing parts are checked when they arrive. */
export function checkedCard<C extends Card>(card: C, sha256?: Sha256): CheckedCard<C> {
  if (checkShown(card, sha256) !== 'differs') return card;
  return { ...card, preview: { kind: 'unavailable', reason: previewDiffers }, unfit: true };
}
