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

const aliases: ReadonlyMap<string, string> = new Map(
  Object.entries({
    author: 'owner',
    home: 'docs',
    issues: 'bugs',
    info: 'view',
    show: 'view',
    find: 'search',
    add: 'install',
    unlink: 'uninstall',
    remove: 'uninstall',
    rm: 'uninstall',
    r: 'uninstall',
    un: 'uninstall',
    rb: 'rebuild',
    list: 'ls',
    ln: 'link',
    create: 'init',
    i: 'install',
    it: 'install-test',
    cit: 'install-ci-test',
    u: 'update',
    up: 'update',
    c: 'config',
    s: 'search',
    se: 'search',
    tst: 'test',
    t: 'test',
    ddp: 'dedupe',
    v: 'view',
    'run-script': 'run',
    'clean-install': 'ci',
    'clean-install-test': 'install-ci-test',
    x: 'exec',
    why: 'explain',
    la: 'll',
    verison: 'version',
    ic: 'ci',
    innit: 'init',
    in: 'install',
    ins: 'install',
    inst: 'install',
    insta: 'install',
    instal: 'install',
    isnt: 'install',
    isnta: 'install',
    isntal: 'install',
    isntall: 'install',
    'install-clean': 'ci',
    'isntall-clean': 'ci',
    hlep: 'help',
    'dist-tags': 'dist-tag',
    upgrade: 'update',
    udpate: 'update',
    rum: 'run',
    sit: 'install-ci-test',
    urn: 'run',
    ogr: 'org',
    'add-user': 'adduser',
  }),
);
