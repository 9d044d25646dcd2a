import { sha256 as sha256OfBytes } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import type { Approval } from './approval.ts';
import type { JsonValue } from './json-value.ts';
import type { Preview } from './preview.ts';
import type { RiskLevel } from './risk.ts';

/** Hexadecimal SHA-256 of a text in UTF-8. */
export type Sha256 = (text: string) => string;

/** Runs in browsers and Node. Node programs pass Node's own SHA-256 instead, which is many times faster. */
const portableSha256: Sha256 = (text) => bytesToHex(sha256OfBytes(utf8ToBytes(text)));

/**
 * JSON with the keys of every object sorted by UTF-16 code units, so equal values have equal texts. Values are written as
 * `JSON.stringify` writes them; keys with the value undefined are left out.
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

/** Texts longer than this are hashed without JSON encoding, which takes three times as long as the hash itself. */
const LONG_TEXT = 64 * 1024;

/**
 * `sha256:` and the hash of a value's canonical JSON, in which `#` replaces each long text, followed by the long texts,
 * each with its length in UTF-16 code units. `fixtures/digests.json` has examples for programs in other languages.
 */
export function digestOf(value: unknown, sha256: Sha256 = portableSha256): string {
  const long: string[] = [];
  const text = canonicalJson(value, (item) => {
    // UTF-8 encodes every lone surrogate as U+FFFD, so two different texts would have the same digest.
    if (item.length <= LONG_TEXT || !item.isWellFormed()) return JSON.stringify(item);
    long.push(item);
    return '#'; // never appears in JSON
  });
  return `sha256:${sha256(text + long.map((item) => `#${item.length}:${item}`).join(''))}`;
}

/** The parts of a card that the digest covers (AP-8, docs/decisions/0005). */
export interface ShownCall {
  /** Digest of the call, working directory and file versions. Only the runner can compute it. */
  readonly digest_base: string;
  readonly tool_name: string;
  readonly tool_params: Readonly<Record<string, JsonValue>>;
  readonly risk_level: RiskLevel;
  readonly preview: Preview;
}

/** The digest that a person approves. Runner and server both compute it, and each front end checks it. */
export function shownDigest(shown: ShownCall, sha256?: Sha256): string {
  const { digest_base: base, tool_name, tool_params, risk_level, preview } = shown;
  return digestOf({ form: 2, base, tool_name, tool_params, risk_level, preview }, sha256);
}

type Card = Pick<
  Approval,
  'tool_name' | 'tool_params' | 'risk_level' | 'preview' | 'digest' | 'digest_base' | 'omitted'
>;

/**
 * Whether a card's digest matches its preview:
 *
 * - `none`: there is no preview and no digest yet;
 * - `partial`: fields were left out because of their size. Fetch the approval, then check again;
 * - `fits`: the digest matches, so the card may be approved;
 * - `differs`: the digest does not match. Do not show the preview; the card can only be rejected.
 */
export function checkShown(card: Card, sha256?: Sha256): 'none' | 'partial' | 'fits' | 'differs' {
  const { preview, digest, digest_base, omitted } = card;
  // A card that a runner makes itself may have an `unavailable` preview, which says why it cannot be approved.
  if (digest === null && (preview === null || preview.kind === 'unavailable')) return 'none';
  if (omitted?.includes('preview') || omitted?.includes('tool_params')) return 'partial';
  if (preview === null || digest === null || digest_base === null) return 'differs';
  return shownDigest({ ...card, preview, digest_base }, sha256) === digest ? 'fits' : 'differs';
}

/** The reason that replaces a preview whose digest differs. */
const previewDiffers =
  'it does not fit its digest, so it is not shown and cannot be approved. Reject the call, and look at the machine that executes it';

/** A card after `checkedCard`. `unfit`: the preview was removed, and the card can only be rejected. */
export type CheckedCard<C> = C & { readonly unfit?: true };

/** The card without its preview if the digest differs, else the card itself (AP-8). Check again when missing fields arrive. */
export function checkedCard<C extends Card>(card: C, sha256?: Sha256): CheckedCard<C> {
  if (checkShown(card, sha256) !== 'differs') return card;
  return { ...card, preview: { kind: 'unavailable', reason: previewDiffers }, unfit: true };
}
