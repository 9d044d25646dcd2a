import { type OptionRow, type OptionTable, optionTable, type Word } from './options.ts';
import type { CommandRule } from './rules.ts';

export const changesWhatRuns: CommandRule = {
  id: 'CMD-NPM-2',
  risk: 'HIGH',
  why: 'tells npm which program, shell or settings to use',
  needsPerson: true,
  matches: [
    'npm test --script-shell=./x.sh',
    'npm --node-options=--require=./x.js test',
    'npm --userconfig data/config.json ls',
    'npm view x --viewer=id',
    'npm --scr=./x test',
    'npm -script-shell ./x.sh test',
    'npm init --init-module=./src/app.js',
    'npm test --no-script-shell=./x.sh',
    'npm test --no-script-shell ./x.sh',
  ],
  doesNotMatch: [
    'npm test',
    'npm run build -- --script-shell=./x.sh',
    'npm run lint --silent',
    'npm ls --depth=0',
  ],
};

export const otherSource: CommandRule = {
  id: 'CMD-NPM-3',
  risk: 'HIGH',
  why: 'takes packages from another source than the configured registry',
  needsPerson: true,
  matches: [
    'npm install --registry=http://127.0.0.1/ x',
    'npm i git+ssh://git@example.com/x.git',
    'npm i user/repo',
    'npm i https://example.com/x.tgz',
    'npm i --proxy http://127.0.0.1 x',
    'npm i x@github:a/b',
  ],
  doesNotMatch: ['npm install', 'npm install lodash@4', 'npm i @types/node', 'npm i ./src'],
};

export const wholeMachine: CommandRule = {
  id: 'CMD-NPM-4',
  risk: 'HIGH',
  why: 'works on the packages of the whole machine, not of the workspace',
  needsPerson: true,
  matches: [
    'npm i -g x',
    'npm ls --global',
    'npm --location=global i x',
    'npm i --location global x',
    'npm i -fg x',
    'npm link',
    'npm i --no-global=false x',
    'npm i --local=false x',
    'npm i --no-no-global x',
    'npm i --global --no-global x',
  ],
  doesNotMatch: ['npm i x', 'npm ls', 'npm i --no-global x', 'npm i --local x'],
};

export const npmOptions: OptionTable = optionTable({
  flags: `--all --allow-same-version --audit --bin-links --bypass-2fa --commit-hooks --description --dev
    --diff-ignore-all-space --diff-name-only --diff-no-prefix --diff-text --dry-run --engine-strict --force
    --foreground-scripts --format-package-lock --fund --git-tag-version --global-style --if-present --ignore-scripts
    --include-staged --include-workspace-root --include-attestations --init-private --install-links --json
    --legacy-bundling --legacy-peer-deps --link --long --offline --omit-lockfile-registry-resolved --package-lock
    --package-lock-only --parseable --prefer-dedupe --prefer-offline --prefer-online --progress --provenance --read-only
    --rebuild-bundle --save --save-bundle --save-dev --save-exact --save-optional --save-peer --save-prod --shrinkwrap
    --sign-git-commit --sign-git-tag --strict-peer-deps --strict-allow-scripts --timing --unicode
    --update-notifier --usage --version --versions --workspaces-update --expect-results --workspaces
    --yes --production --optional --color --help --silent --quiet --verbose --desc --readonly --porcelain`,
  values: `--access --also --audit-level --auth-type --before --cache-max --cache-min --cidr --cpu --depth
    --diff-dst-prefix --diff-src-prefix --diff-unified --expect-result-count --expires --fetch-retries
    --fetch-retry-factor --fetch-retry-maxtimeout --fetch-retry-mintimeout --fetch-timeout --heading --include
    --init-author-email --init-author-name --init-author-url --init-license --init-type --init-version
    --init.author.email --init.author.name --init.author.url --init.license --init.version --install-strategy --libc
    --local-address --lockfile-version --loglevel --logs-max --name --maxsockets --message --min-release-age
    --min-release-age-exclude --noproxy --omit --only --os --otp --preid --save-prefix --sbom-format --sbom-type
    --scope --searchexclude --searchlimit --searchopts --searchstaleness --tag --tag-version-prefix --umask --user-agent
    --which --enjoy-by`,
  rows: [
    { names: '--prefix', value: 'read' },
    { names: '--package --diff', value: (value, notes) => notes.mayBePath(value, 'outside') },
    {
      // The value is the name of a package or a directory.
      names: '--workspace',
      value: (value, notes) => {
        if (/^[./~]/.test(value)) notes.path(value, 'run');
      },
    },
    { names: '--cache --logs-dir --pack-destination', value: 'write' },
    { names: '--provenance-file', value: 'read' },
    { names: '--cafile', value: 'read', rule: otherSource },
    { names: '--userconfig --globalconfig', value: 'read', rule: changesWhatRuns },
    { names: '--init-module --init.module --node-gyp', value: 'run', rule: changesWhatRuns },
    {
      names: '--script-shell --shell --node-options --editor --viewer --git',
      value: 'text',
      rule: changesWhatRuns,
    },
    { names: '--browser', value: 'text', optional: true, rule: changesWhatRuns },
    { names: '--dangerously-allow-all-scripts', rule: changesWhatRuns },
    {
      names: '--allow-scripts --allow-git --allow-remote --allow-file --allow-directory',
      value: 'text',
      rule: changesWhatRuns,
    },
    { names: '--call', value: 'text', rule: changesWhatRuns },
    {
      names: '--registry --reg --proxy --https-proxy --replace-registry-host --ca --cert --key --_auth',
      value: 'text',
      rule: otherSource,
    },
    { names: '--strict-ssl', rule: otherSource },
    { names: '--global', rule: wholeMachine },
    {
      names: '--location',
      value: (value, notes) => {
        if (value !== 'project') notes.raise(wholeMachine, value);
      },
    },
  ],
});

/** Short names and what they stand for. */
const shorthands = new Map(
  [
    ...`d=silent dd=silent ddd=silent q=silent s=silent n=no-yes no=no-yes local=no-global iwr=include-workspace-root
    ws=workspaces a=all c=call f=force g=global L=location l=long m=message p=parseable C=prefix S=save B=save-bundle
    D=save-dev E=save-exact O=save-optional P=save-prod ?=usage H=usage h=usage v=version w=workspace y=yes
    N=registry`.matchAll(/(\S+)=(\S+)/g),
  ].map(([, short = '', long = '']): [string, string] => [short, long]),
);

/**
 * Parses like npm's own parser (nopt): one dash equals two, single letters can be bundled, `--no-x` negates, unambiguous
 * abbreviations count, and a flag takes a following `true` or `false` as its value.
 */
export function parseNpm(args: readonly string[]): Word[] {
  const words: Word[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] as string;
    if (/^--+$/.test(arg)) {
      for (const text of args.slice(at + 1)) words.push({ kind: 'operand', text, afterDashes: true });
      break;
    }
    if (!arg.startsWith('-') || arg === '-') {
      words.push({ kind: 'operand', text: arg, afterDashes: false });
      continue;
    }
    const equals = arg.indexOf('=');
    const spelled = equals < 0 ? arg : arg.slice(0, equals);
    const glued = equals < 0 ? undefined : arg.slice(equals + 1);
    const names = namesIn(spelled);
    names.forEach((name, i) => {
      const isLast = i === names.length - 1;
      if (read(name, arg, isLast ? glued : undefined, isLast ? args[at + 1] : undefined, words)) at++;
    });
  }
  return words;
}

/** The options in one word: one in `-C`, two in `-fg`, one in `-prefix`. */
function namesIn(spelled: string): readonly string[] {
  const name = spelled.replace(/^-+/, '');
  const whole = shorthands.get(name);
  if (whole) return [whole];
  const isKnown = name.length > 2 && meanings(name).length > 0;
  const isBundle =
    !spelled.startsWith('--') && !isKnown && [...name].every((letter) => shorthands.has(letter));
  return isBundle ? [...name].map((letter) => shorthands.get(letter) as string) : [name];
}

/** Returns whether `next` was taken as the value. */
function read(
  name: string,
  spelled: string,
  glued: string | undefined,
  next: string | undefined,
  words: Word[],
): boolean {
  let plain = name;
  let isNegated = false;
  while (/^no-/i.test(plain)) {
    plain = plain.slice(3);
    isNegated = !isNegated;
  }
  const rows = meanings(plain);
  const [row] = rows;
  if (row === undefined || rows.length > 1) {
    words.push({ kind: 'unknown', spelled, value: glued });
    for (const each of rows) words.push({ kind: 'option', row: each, spelled, value: glued });
    return false;
  }
  const isFlag = row.value === undefined || row.optional;
  if (!isNegated && !isFlag) {
    const takesNext =
      glued === undefined && next !== undefined && !/^-{1,2}[^-]+/.test(next) && !/^--+$/.test(next);
    words.push({ kind: 'option', row, spelled, value: takesNext ? next : glued });
    return takesNext;
  }
  // A flag, or `--no-x` of any option. npm reads a value after either: `--no-global=false` is `--global`,
  // `--no-script-shell=./x` sets the shell, and `--audit=publish` runs the command `publish`.
  const switched = glued ?? (next === 'true' || next === 'false' ? next : undefined);
  if (isNegated && row.value !== undefined && (switched ?? next) !== undefined && !next?.startsWith('-')) {
    const value = switched ?? next;
    words.push({ kind: 'unknown', spelled, value }, { kind: 'option', row, spelled, value });
  } else if (isNegated && switched === undefined && plain !== 'strict-ssl') {
    words.push({ kind: 'negation', rows: [row], spelled, value: undefined });
  } else {
    words.push({ kind: 'option', row, spelled, value: undefined });
  }
  if (glued !== undefined && !/^(true|false|null|always|)$/.test(glued))
    words.push(
      { kind: 'unknown', spelled, value: glued },
      { kind: 'operand', text: glued, afterDashes: false },
    );
  return glued === undefined && switched !== undefined;
}

/** Every row that a name can mean, counting abbreviations. */
function meanings(name: string): readonly OptionRow[] {
  const exact = npmOptions.long.get(name);
  if (exact) return [exact];
  if (name === '') return [];
  const found = new Set<OptionRow>();
  for (const [full, row] of npmOptions.long) if (full.startsWith(name)) found.add(row);
  return [...found];
}

/** The command that npm would start, by name, alias or unambiguous abbreviation. camelCase counts as kebab-case. */
export function resolveCommand(spelled: string): string | undefined {
  const name = spelled.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  if (commands.has(name)) return name;
  const alias = aliases.get(name);
  if (alias) return alias;
  const found = new Set<string>();
  for (const full of commands) if (full.startsWith(name)) found.add(full);
  for (const [full, target] of aliases) if (full.startsWith(name)) found.add(target);
  return found.size === 1 ? [...found][0] : undefined;
}

const commands: ReadonlySet<string> = new Set(
  `access adduser approve-scripts audit bugs cache ci completion config dedupe deny-scripts deprecate diff dist-tag docs
  doctor edit exec explain explore find-dupes fund get help help-search hook init install install-ci-test install-scripts
  install-test link ll login logout ls org outdated owner pack ping pkg prefix profile prune publish query rebuild repo
  restart root run sbom search set shrinkwrap stage star stars start stop team test token trust undeprecate uninstall
  unpublish unstar update version view whoami`.split(/\s+/),
);

/** Other spellings that npm accepts, typing errors included. */
const aliases = new Map(
  Object.entries({
    owner: 'author',
    docs: 'home',
    bugs: 'issues',
    view: 'info show v',
    search: 'find s se',
    install: 'add i in ins inst insta instal isnt isnta isntal isntall',
    uninstall: 'unlink remove rm r un',
    rebuild: 'rb',
    ls: 'list',
    link: 'ln',
    init: 'create innit',
    'install-test': 'it',
    'install-ci-test': 'cit clean-install-test sit',
    update: 'u up upgrade udpate',
    config: 'c',
    test: 'tst t',
    dedupe: 'ddp',
    run: 'run-script rum urn',
    ci: 'clean-install ic install-clean isntall-clean',
    exec: 'x',
    explain: 'why',
    ll: 'la',
    version: 'verison',
    help: 'hlep',
    'dist-tag': 'dist-tags',
    org: 'ogr',
    adduser: 'add-user',
  }).flatMap(([command, spelled]) => spelled.split(' ').map((alias): [string, string] => [alias, command])),
);
