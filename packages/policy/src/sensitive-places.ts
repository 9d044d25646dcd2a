import { wordList } from './text.ts';
import { PlaceTable } from './workspace-path.ts';

/** VA-2: files that hold secrets. Every tool refuses them as operands. */
export const sensitivePlaces = new PlaceTable([
  {
    id: 'SENS-1',
    kind: 'environment file with secrets',
    names: ['.env'],
    namePattern: /^(\.env[._-].+|\.env\d+|.+\.env)$/,
    // Templates: `.env.example` and `example.env`, but not `.env.dist.local`, which does not end in such a word.
    exceptions:
      /^\.env.*[._-](example|sample|template|tpl|dist|defaults?|schema)$|^(example|sample|template|tpl|dist|defaults?|schema)\.env$/,
    matches: wordList(`.env src/.env .Env .env.local .env.production config/prod.env .env. .env~ #.env#
      .env.bak .env.dist.local .env1`),
    doesNotMatch: ['.env.example', '.env.sample', 'sample.env', 'src/env.ts', '.envrc', 'vite-env.d.ts'],
  },
  {
    id: 'SENS-2',
    kind: 'credentials file',
    names: ['credentials.json', 'service-account.json', '.vault-token', '.htpasswd', '.pgpass', '.my.cnf'],
    matches: wordList(`credentials.json a/credentials.json CREDENTIALS.JSON .pgpass credentials.json~
      .credentials.json.swp`),
    doesNotMatch: ['credentials.json.md', 'src/credentials.ts', 'docs/credentials.md'],
  },
  {
    id: 'SENS-3',
    kind: 'directory with keys and credentials',
    directories: ['.aws', '.ssh', '.gnupg', '.azure', '.kube', '.gcloud'],
    subpaths: ['.config/gcloud', '.docker/config.json', '.config/gh/hosts.yml'],
    matches: ['.aws/config', 'home/.ssh', '.ssh/known_hosts', '.gnupg/pubring.kbx', '.docker/config.json'],
    doesNotMatch: ['aws/config', 'docs/ssh.md', '.dockerignore', 'docker/config.json'],
  },
  {
    id: 'SENS-4',
    kind: 'private key',
    namePattern: /^(id_(rsa|dsa|ecdsa|ed25519)([._-].*)?|.+\.(pem|key|p12|pfx|ppk|jks|keystore|kdbx))$/,
    exceptions: /\.pub$/,
    matches: wordList(`keys/id_rsa id_ecdsa ID_ED25519 tls/server.key cert.pem id_rsa.bak .id_rsa.swp
      id_ed25519_work server.key.old`),
    doesNotMatch: ['id_rsa.pub', 'src/id.ts', 'keyboard.ts', 'monkey'],
  },
  {
    id: 'SENS-5',
    kind: 'package registry or network login',
    names: ['.npmrc', '.netrc', '_netrc', '.pypirc', '.dockercfg'],
    subpaths: ['.cargo/credentials', '.cargo/credentials.toml', '.gem/credentials'],
    matches: ['.npmrc', '.npmrc.bak', 'app/.npmrc', '.netrc', '_netrc', '.cargo/credentials.toml'],
    doesNotMatch: ['npmrc.md', '.nvmrc', '.cargo/config.toml'],
  },
  {
    id: 'SENS-6',
    kind: 'git credential store',
    names: ['.git-credentials'],
    subpaths: ['.config/git/credentials', '.git/credentials'],
    matches: ['.git-credentials', '.config/git/credentials'],
    doesNotMatch: ['.gitignore', '.git/config'],
  },
  {
    id: 'SENS-7',
    kind: "Countersign's own configuration or tokens",
    subpaths:
      wordList(`.config/countersign .local/state/countersign .local/share/countersign .countersign/token
      .countersign/tokens .countersign/tokens.json`),
    namePattern: /^countersign[._-]?(token|tokens|secret)s?(\.\w+)?$/,
    matches: ['.config/countersign', '.countersign/tokens.json', 'countersign-token', 'countersign.token'],
    doesNotMatch: ['.countersign/policy.json', 'docs/countersign.md'],
  },
]);
