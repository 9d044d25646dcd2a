/** The command that npm would start: by name, alias or clear abbreviation; camelCase counts as kebab-case. */
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

/** Other spellings that npm knows, its typing errors among them. */
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
