import type { Manual, Notes } from './notes.ts';
import {
  changesWhatRuns,
  npmOptions,
  otherSource,
  parseNpm,
  resolveCommand,
  wholeMachine,
} from './npm-options.ts';
import type { CommandRule } from './rules.ts';

const usesNpm: CommandRule = {
  id: 'CMD-NPM-1',
  risk: 'MEDIUM',
  why: 'runs npm in the workspace',
  matches: [
    'npm ls',
    'npm run lint',
    'npm test',
    'npm install',
    'npm ci',
    'npm view lodash',
    'npm outdated',
    'npm config get registry',
  ],
  doesNotMatch: ['node src/app.js', 'echo npm'],
};

const runsScripts: CommandRule = {
  id: 'CMD-NPM-5',
  risk: 'MEDIUM',
  why: 'runs scripts that package.json defines',
  matches: ['npm run start', 'npm test', 'npm start', 'npm ci', 'npm install', 'npm t', 'npm rum build'],
  doesNotMatch: ['npm ls', 'npm view x', 'npm install express'],
};

const installsCode: CommandRule = {
  id: 'CMD-NPM-10',
  risk: 'MEDIUM',
  why: 'downloads packages and runs the code of third parties: their install scripts now, the rest when it is used',
  network: true,
  matches: [
    'npm install express',
    'npm i -D vitest',
    'npm ci',
    'npm install',
    'npm update',
    'npm add x',
    'npm it',
    'npm audit fix',
  ],
  doesNotMatch: [
    'npm test',
    'npm run install',
    'npm rebuild',
    'npm view express',
    'npm uninstall x',
    'npm audit',
  ],
};

const runsPackage: CommandRule = {
  id: 'CMD-NPM-6',
  risk: 'HIGH',
  why: 'runs a command or a downloaded package',
  network: true,
  matches: [
    'npm exec --call id',
    'npm x cowsay',
    'npm exec -- eslint .',
    'npm init vite',
    'npm create vite@latest',
    'npm explore x',
  ],
  doesNotMatch: ['npm init -y', 'npm run exec', 'npm view exec'],
};

const publishes: CommandRule = {
  id: 'CMD-NPM-7',
  risk: 'HIGH',
  why: 'changes packages or accounts in the registry, for everybody',
  network: true,
  matches: [
    'npm publish',
    'npm unpublish x',
    'npm pub',
    'npm dist-tag add x@1 y',
    'npm token create',
    'npm login',
    'npm owner add a b',
    'npm deprecate x y',
  ],
  doesNotMatch: ['npm pack', 'npm view x', 'npm run publish'],
};

const changesSettings: CommandRule = {
  id: 'CMD-NPM-8',
  risk: 'HIGH',
  why: 'changes settings that decide what runs later',
  needsPerson: true,
  matches: [
    'npm config set node-options --require=./x.js',
    'npm set script-shell ./x',
    'npm c set registry http://127.0.0.1/',
    'npm pkg set scripts.test=id',
    'npm config edit',
    'npm config delete x',
    'npm pkg fix',
    'npm approve-scripts x',
  ],
  doesNotMatch: ['npm config get registry', 'npm config list', 'npm pkg get name', 'npm get registry'],
};

const unknownCommand: CommandRule = {
  id: 'CMD-NPM-9',
  risk: 'HIGH',
  why: 'is an npm command that Countersign does not know',
  matches: ['npm frobnicate', 'npm st'],
  doesNotMatch: ['npm', 'npm help', 'npm run frobnicate'],
};

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));
const scriptCommands = words('run test start stop restart');
const installCommands = words('install ci update install-test install-ci-test dedupe');
const networkCommands = words(
  'audit outdated view search ping doctor diff whoami stars fund install update ci dedupe install-test install-ci-test pack sbom',
);
const publishCommands = words(
  'publish unpublish deprecate undeprecate dist-tag owner access org team token profile hook adduser login logout star unstar trust stage',
);
const prefixRow = npmOptions.long.get('prefix');

export const npm: Manual = {
  names: ['npm'],
  rules: [
    usesNpm,
    changesWhatRuns,
    otherSource,
    wholeMachine,
    runsScripts,
    installsCode,
    runsPackage,
    publishes,
    changesSettings,
    unknownCommand,
  ],
  read(args, notes) {
    notes.raise(usesNpm);
    const operands: string[] = [];
    let prefix = '';
    for (const word of parseNpm(args)) {
      if (word.kind === 'operand') operands.push(word.text);
      else {
        notes.option(word);
        if (word.kind === 'option' && word.row === prefixRow && word.value) prefix = word.value;
      }
    }
    const manifest = prefix === '' ? 'package.json' : `${prefix}/package.json`;
    const [first, ...rest] = operands;
    if (first !== undefined) noteCommand(first, rest, manifest, notes);
  },
};

function noteCommand(spelled: string, texts: readonly string[], manifest: string, notes: Notes): void {
  const command = resolveCommand(spelled);
  if (command === undefined) {
    notes.raise(unknownCommand, spelled);
    return;
  }
  if (networkCommands.has(command)) notes.needNetwork();
  if (installCommands.has(command) || (command === 'audit' && texts[0] === 'fix'))
    notes.raise(installsCode, texts[0] ?? spelled);
  if (
    scriptCommands.has(command) ||
    installCommands.has(command) ||
    /^(pack|version|rebuild)$/.test(command)
  ) {
    // Named packages are installed without the scripts of the workspace's own package.json.
    if (command !== 'install' || texts.length === 0) notes.raise(runsScripts, spelled);
    notes.path(manifest, 'run');
  }
  // The lock file decides which packages are installed and executed.
  if (installCommands.has(command))
    for (const lock of ['package-lock.json', 'npm-shrinkwrap.json'])
      notes.impliedRun(manifest.replace(/package\.json$/, lock));
  if (scriptCommands.has(command)) notes.scriptArguments(command === 'run' ? texts.slice(1) : texts);
  else if (publishCommands.has(command)) {
    notes.raise(publishes, spelled);
    for (const text of texts) notePackage(text, notes);
  } else if (command === 'exec' || command === 'explore' || command === 'edit') {
    notes.raise(runsPackage, spelled);
    notes.impliedRun(manifest);
    if (texts[0] !== undefined) {
      notePackage(texts[0], notes);
      notes.impliedRun(manifest.replace(/package\.json$/, `node_modules/.bin/${texts[0]}`));
    }
    notes.scriptArguments(texts.slice(1));
  } else if (command === 'init') {
    if (texts[0] === undefined) return;
    notes.raise(runsPackage, texts[0]);
    notePackage(texts[0], notes);
    notes.scriptArguments(texts.slice(1));
  } else if (command === 'link') {
    notes.raise(wholeMachine, spelled);
    for (const text of texts) notePackage(text, notes);
  } else if (command === 'config' || command === 'pkg' || command === 'cache') {
    if (!/^(get|list|ls|verify)$/.test(texts[0] ?? 'list')) notes.raise(changesSettings, texts[0]);
    if (command === 'cache') for (const text of texts.slice(1)) notePackage(text, notes);
  } else if (command === 'set' || /-scripts$/.test(command)) {
    notes.raise(changesSettings, spelled);
  } else if (/^(install|update|install-test|pack|diff|view)$/.test(command)) {
    for (const text of texts) notePackage(text, notes);
  }
}

/** Notes where a package comes from: the registry, a path, or another source. */
function notePackage(spec: string, notes: Notes): void {
  const at = spec.indexOf('@', 1);
  const source = at > 0 && /^(@[^/]+\/)?[^/@:]+$/.test(spec.slice(0, at)) ? spec.slice(at + 1) : spec;
  if (/^(file|link):/.test(source)) notes.path(source.replace(/^(file|link):(\/\/)?/, '') || '.', 'run');
  else if (/^(\.{1,2}(\/|$)|\/|~\/|[A-Za-z]:[\\/])/.test(source)) notes.path(source, 'run');
  else if (/^[\w+.-]+:/.test(source) && !source.startsWith('npm:')) notes.raise(otherSource, spec);
  else if (/\.(tgz|tar|tar\.gz)$/i.test(source)) notes.path(source, 'run');
  else if (source.includes('/') && !spec.startsWith('@')) notes.raise(otherSource, spec);
}
