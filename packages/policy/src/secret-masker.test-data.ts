/** Ways to write a secret down; the masker must hide the part that is given. */
export const secretSpellings: readonly ((secret: string) => string)[] = [
  (x) => `-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n${x}\n-----END RSA PRIVATE KEY-----`,
  (x) => `-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n${x}`,
  (x) => `PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 1\n${x}`,
  (x) => `SECRET_KEY=${x}`,
  (x) => `STRIPE_SECRET_KEY: ${x}`,
  (x) => `secretKey: '${x}'`,
  (x) => `DB_PASS=${x}`,
  (x) => `MYSQL_PWD=${x}`,
  (x) => `ENCRYPTION_KEY=${x}`,
  (x) => `PASSWORD1=${x}`,
  (x) => `AccountKey=${x}`,
  (x) => `_auth = ${x}`,
  (x) => `token:    ${x}`,
  (x) => `token := ${x}`,
  (x) => `token => ${x}`,
  (x) => `token: |\n  ${x}`,
  (x) => `<password>${x}</password>`,
  (x) => `"password" : "a\\"${x}"`,
  (x) => `mysql --password ${x}`,
  (x) => `tool --token ${x}`,
  (x) => `curl -u user:${x} host`,
  (x) => `sshpass -p ${x} ssh host`,
  (x) => `machine h login me password ${x}`,
  (x) => `https://${x}@github.com/a/b`,
  (x) => `https://hooks.slack.com/services/T0/B0/${x}`,
  (x) => `SG.${x}.${x}`,
  (x) => `ya29.${x}`,
];

/** Values in which `X1` stands where a secret belongs. */
export const secretFields: readonly unknown[] = [
  { args: ['--password', 'X1'] },
  { password: { v: 'X1' } },
  { tokens: ['X1'] },
  { headers: { authorization: ['X1'] } },
  { secret_key: 'X1' },
  { env: [{ name: 'DB_PASSWORD', value: 'X1' }] },
];

/** Texts that hold no secret. */
export const readableTexts: readonly string[] = [
  'npm run test',
  'src/token-list.md',
  'https://example.org/a?b=c',
  'git commit -m "add tokens page"',
];
