/** Sensitive files by their whole name (VA-2; policy/sensitive-places.ts). */
const names = [
  ...['.env', '.env[._0-9-]*', '.npmrc', '.netrc', '_netrc', '.pypirc', '.pgpass', '.my.cnf', '.htpasswd'],
  ...['.vault-token', '.git-credentials', '.dockercfg', 'credentials.json', 'service-account.json'],
  ...['id_rsa', 'id_dsa', 'id_ecdsa', 'id_ed25519'].flatMap((name) => [name, `${name}[._-]*`]),
  ...['countersigntoken*', 'countersignsecret*', 'countersign[._-]token*', 'countersign[._-]secret*'],
];
const endings = ['env', 'pem', 'key', 'p12', 'pfx', 'ppk', 'jks', 'keystore', 'kdbx'];
const folders = [
  ...['.aws', '.ssh', '.gnupg', '.azure', '.kube', '.gcloud', '.config/gcloud', '.config/countersign'],
  ...['.local/state/countersign', '.local/share/countersign'],
];
const files = [
  ...['.docker/config.json', '.config/gh/hosts.yml', '.config/git/credentials', '.cargo/credentials'],
  ...['.cargo/credentials.toml', '.gem/credentials', '.countersign/token', '.countersign/tokens'],
  '.countersign/tokens.json',
];
const backups = ['~', '#', '.ba*', '.o[lr]*', '.save', '.sw[op]', '.tmp', '.copy'];

/** Git's patterns are case-sensitive, but a name in another case is the same secret. */
const inAnyCase = (pattern: string): string =>
  pattern.replace(/\[[^\]]*\]|[a-z]/g, (found) =>
    found.length > 1 ? found : `[${found}${found.toUpperCase()}]`,
  );

const hidden = [
  ...names.flatMap((name) => [name, `${name}[~.#]*`, `[.#]${name}[#.]*`]),
  ...endings.flatMap((ending) => ['', ...backups].map((backup) => `*.${ending}${backup}`)),
  ...folders.flatMap((folder) => [`**/${folder}`, `**/${folder}/**`]),
  ...files.flatMap((file) => [`**/${file}`, `**/${file}[~.#]*`]),
];

/** Templates are shown. */
const shown = ['example', 'sample', 'template', 'tpl', 'dist', 'default', 'defaults', 'schema'].flatMap(
  (word) => [`.env*[._-]${word}`, `${word}.env`],
);

/** Sensitive files as attributes of git: they count as binary, so no diff and no search shows their lines. */
export const hiddenInDiffs = [
  ...hidden.map((pattern) => `${inAnyCase(pattern)} -diff`),
  ...shown.map((pattern) => `${pattern} diff`),
  '*.pub !diff',
  '',
].join('\n');
