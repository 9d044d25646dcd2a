/**
 * What secrets look like in text. Each expression takes time bounded by its own length times the text's: repetitions
 * are bounded or over characters that end them. What stands in the group `keep` stays; the rest of a match is masked.
 */

/** Words that make a name the name of a secret, wherever in it they stand: `DB_PASSWORD1`, `stripeSecretKey`. */
const secretWord =
  '(?:passw(?:or)?d|passphrase|pwd|secret|token|credential|_auth|(?:api|access|account|private|encryption|signing|auth|master|service|session|shared|storage|deploy|license)[_-]?key)';
/** `DB_PASS`, `PASS`, but not `compass` or `passenger`. */
const passWord = '(?<![a-z])pass(?![a-z])';
const secretName = `[A-Za-z0-9_.-]{0,64}(?:${secretWord}|${passWord})[A-Za-z0-9_.-]{0,64}`;
const value = `(?:"(?:[^"\\\\\\r\\n]|\\\\.){0,4000}"?|'[^'\\r\\n]{0,4000}'?|[^\\s"',;&|<>]{1,4000})`;

export const secretShapes: readonly RegExp[] = [
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g,
  /(?<keep>PuTTY-User-Key-File[\s\S]{0,1500}?Private-Lines:)[\s\S]*$/g,
  /(?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{12,}/g,
  /(?:gh[pousr]_|github_pat_|glpat-|npm_|pypi-|hf_|dop_v1_|shpat_)[A-Za-z0-9_-]{10,}/g,
  /(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}/g,
  /xox[a-z]-[A-Za-z0-9-]{8,}/g,
  /(?<keep>hooks\.slack\.com\/services\/)[A-Za-z0-9/_-]{8,}/g,
  /AIza[A-Za-z0-9_-]{20,}/g,
  /ya29\.[A-Za-z0-9_-]{16,}/g,
  /SG\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}/g,
  /eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{0,4096}){1,4}/g,
  /(?<keep>\b(?:authorization|proxy-authorization|x-api-key|cookie)["']?\s{0,20}[:=]\s{0,20})[^\r\n]+/gi,
  /(?<keep>\b(?:bearer|basic)\s{1,20})[A-Za-z0-9._~+/=-]{8,}/gi,
  // The password of a URL, and a token in the place of its user.
  /(?<keep>\b[a-z][a-z0-9+.-]{0,20}:\/\/[^\s/:@]{0,200}:)[^\s@]{1,500}(?=@)/gi,
  /(?<keep>\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/:@]{12,500}(?=@)/gi,
  new RegExp(`(?<keep><${secretName}>)[^<]{1,4000}`, 'gi'),
  new RegExp(
    `(?<keep>${secretName}["']?\\s{0,20}(?::=|=>|[:=])\\s{0,20}(?:[|>]-?\\s{0,200})?)${value}`,
    'gi',
  ),
  // Options whose value stands behind a blank.
  new RegExp(`(?<keep>(?<![\\w-])--?${secretName}\\s{1,20})${value}`, 'gi'),
  /(?<keep>\bsshpass\s{1,20}-p\s{0,20})\S{1,500}/g,
  /(?<keep>(?<![\w-])(?:-u|--user|--proxy-user)[\s=]{1,20}[^\s:]{1,200}:)\S{1,500}/g,
  /(?<keep>\blogin\s{1,20}\S{1,200}\s{1,20}password\s{1,20})\S{1,500}/gi,
];

const fieldName = new RegExp(`${secretWord}|${passWord}|authorization|cookie`, 'i');

/** Whether a field or an option of this name holds a secret, whatever its value looks like. */
export const isSecretName = (name: string): boolean => fieldName.test(name);
