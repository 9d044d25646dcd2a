import { wordList } from '../text.ts';
import { nodeLookups } from './implied-scripts.ts';
import type { Manual, Notes } from './notes.ts';
import { OptionState, type OptionWord, optionTable } from './options.ts';
import type { CommandRule } from './rules.ts';

const runsScript: CommandRule = {
  id: 'CMD-NODE-1',
  risk: 'MEDIUM',
  why: 'runs a script of the workspace with Node.js',
  matches: [
    'node src/app.js',
    'node --test',
    'node --check src/app.js',
    'node --watch src/app.js',
    'node --run build',
    'node --help',
  ],
  doesNotMatch: ['echo node', 'node -v', 'python3 src/server.py'],
};

const inlineCode: CommandRule = {
  id: 'CMD-NODE-2',
  risk: 'HIGH',
  why: 'runs code that is written in the command itself or comes from standard input',
  needsPerson: true,
  matches: [
    'node -e 1',
    'node -p 1',
    'node -pe 1',
    'node --eval=1',
    'node --trace-warnings --print 2',
    'node',
    'node -',
    'node -i src/app.js',
    'node --input-type=module',
    'node --test-reporter=data:text/javascript,1 --test',
    'node --test --test-reporter DATA:text/javascript,1',
    'node --import=data:text/javascript,1 src/app.js',
    'node --loader https://example.com/x.mjs src/app.js',
    'node --entry-url data:text/javascript,1',
    'node --test --no-test',
    'node --version --no-version',
  ],
  doesNotMatch: [
    'node src/app.js -e dev',
    'node --version',
    'node --test',
    'node -c src/app.js',
    'node --run test',
    'node --no-test --test',
    'node --test --test-reporter=spec',
    'node --test --test-reporter=./src/reporter.js',
  ],
};

const preloads: CommandRule = {
  id: 'CMD-NODE-3',
  risk: 'HIGH',
  why: 'loads further code, settings or environment before the script',
  needsPerson: true,
  matches: [
    'node -r ./src/utils/helper.js src/app.js',
    'node --import=data:text/javascript,1 src/app.js',
    'node --loader ./src/app.js src/app.js',
    'node --experimental_loader=./src/app.js src/app.js',
    'node --env-file=data/x.conf src/app.js',
    'node --openssl-config=data/x src/app.js',
    'node --test --test-reporter=some-package',
    'node --test --test-reporter=file:///home/me/project/x.js',
    'node --test-global-setup=./src/setup.js --test',
  ],
  doesNotMatch: [
    'node src/app.js -r x',
    'node --conditions=development src/app.js',
    'node --enable-source-maps src/app.js',
    'node --test --test-reporter=junit',
    'node --test --test-reporter=./src/reporter.js',
  ],
};

const opensDebugger: CommandRule = {
  id: 'CMD-NODE-4',
  risk: 'HIGH',
  why: 'opens a debugger, through which any code can be run',
  needsPerson: true,
  matches: [
    'node --inspect src/app.js',
    'node --inspect-brk=0.0.0.0:9229 src/app.js',
    'node inspect src/app.js',
    'node --inspect-port=1 src/app.js',
  ],
  doesNotMatch: ['node src/app.js --inspect', 'node src/app.js inspect'],
};

const writesReports: CommandRule = {
  id: 'CMD-NODE-5',
  risk: 'HIGH',
  why: 'writes profiles, reports or keys to files of its choice',
  matches: [
    'node --cpu-prof --cpu-prof-dir=logs src/app.js',
    'node --redirect-warnings=x src/app.js',
    'node --tls-keylog=x src/app.js',
    'node --build-snapshot src/app.js',
  ],
  doesNotMatch: ['node --trace-warnings src/app.js', 'node --test-reporter=spec --test'],
};

/** Notes a module that node loads. Only a file can be checked: any other URL contains or fetches the code. */
function noteModule(value: string, notes: Notes): void {
  const scheme = /^\s*([A-Za-z][\w+.-]*):/.exec(value)?.[1]?.toLowerCase();
  if (scheme === 'file') notes.path(decodedUrl(value.trim()).replace(/^file:(\/\/)?/i, ''), 'run');
  else if (scheme !== undefined && scheme !== 'node') notes.raise(inlineCode, value);
  else if (isRelative(value)) noteRun(value, notes);
}

const isRelative = (specifier: string): boolean => /^(\.{0,2}\/|\.\.?$)/.test(specifier);

/** Decodes a URL; node finds no file for one that cannot be decoded. */
export function decodedUrl(url: string): string {
  try {
    return decodeURIComponent(url);
  } catch {
    return url;
  }
}

const ownReporters: ReadonlySet<string> = new Set(['spec', 'tap', 'dot', 'junit', 'lcov']);

/** Notes a test reporter: built in, a file of the workspace that runs like any script, or code from elsewhere. */
function noteReporter(value: string, notes: Notes): void {
  if (ownReporters.has(value)) return;
  if (!isRelative(value)) notes.raise(preloads, value);
  noteModule(value, notes);
}

/** Notes a script that node runs; `a` may mean `a.js`. */
function noteRun(script: string, notes: Notes): void {
  notes.path(script, 'run', { lookups: nodeLookups(script) });
}

/** Notes a value of --test-reporter-destination: a file or a standard stream. */
function noteDestination(value: string, notes: Notes): void {
  if (value !== 'stdout' && value !== 'stderr') notes.path(value, 'write');
}

const options = optionTable({
  abbreviations: false,
  permutes: false,
  flags: `--abort-on-uncaught-exception --allow-addons --allow-child-process --allow-inspector --allow-openssl-store
    --allow-wasi --allow-worker -c --check --completion-bash --deprecation --disable-sigusr1
    --disable-wasm-trap-handler --disallow-code-generation-from-strings --enable-etw-stack-walking --enable-fips
    --enable-source-maps --entry-url --experimental-abortcontroller --experimental-addon-modules
    --experimental-detect-module --experimental-eventsource --experimental-fetch --experimental-global-customevent
    --experimental-global-navigator --experimental-global-webcrypto --experimental-import-meta-resolve
    --experimental-import-text --experimental-json-modules --experimental-modules --experimental-permission
    --experimental-print-required-tla --experimental-repl-await --experimental-report --experimental-require-module
    --experimental-shadow-realm --experimental-sqlite --experimental-stream-iter --experimental-strip-types
    --experimental-test-coverage --experimental-test-module-mocks --experimental-top-level-await
    --experimental-transform-types --experimental-vm-modules --experimental-wasm-modules --experimental-websocket
    --experimental-webstorage --experimental-worker --expose-gc --expose_gc --extra-info-on-fatal-exception
    --force-async-hooks-checks --force-context-aware --force-fips --force-node-api-uncaught-exceptions-policy
    --frozen-intrinsics --global-search-paths -h --help --insecure-http-parser --interpreted-frames-native-stack --jitless
    --napi-modules --network-family-autoselection --enable-network-family-autoselection --addons --node-memory-debug
    --node-snapshot --openssl-legacy-provider --openssl-shared-config --pending-deprecation --permission
    --permission-audit --preserve-symlinks --preserve-symlinks-main --report-compact --report-exclude-env
    --report-exclude-network --require-module --strip-types --async-context-frame --test --test-force-exit --test-only
    --test-randomize --test-update-snapshots --throw-deprecation --tls-max-v1.2 --tls-max-v1.3 --tls-min-v1.0
    --tls-min-v1.1 --tls-min-v1.2 --tls-min-v1.3 --trace-atomics-wait --trace-deprecation --trace-env
    --trace-env-js-stack --trace-env-native-stack --trace-exit --trace-promises --trace-sigint --trace-sync-io
    --trace-tls --trace-uncaught --trace-warnings --track-heap-objects --use-bundled-ca --use-env-proxy --use-openssl-ca
    --use-system-ca --v8-options --verify-base-objects -v --version --warnings --watch --watch-preserve-output
    --zero-fill-buffers --harmony --use-strict --stack-trace --trace-gc`,
  values: `-C --conditions --cpu-prof-interval --disable-proto --disable-warning --dns-result-order --heap-prof-interval
    --max-http-header-size --max-old-space-size-percentage --network-family-autoselection-attempt-timeout --secure-heap
    --secure-heap-min --test-concurrency --test-coverage-branches --test-coverage-functions --test-coverage-lines
    --test-coverage-exclude --test-coverage-include --test-isolation --experimental-test-isolation --test-name-pattern
    --test-random-seed --test-shard --test-skip-pattern --test-timeout --experimental-test-tag-filter --title
    --tls-cipher-list --unhandled-rejections --use-largepages --v8-pool-size --watch-kill-signal --stack-trace-limit
    --experimental-default-type --trace-require-module`,
  // V8 takes these with `=` only, so the next word is the script. Newer versions of Node.js ignore the two about specifiers.
  optionalValues: `--max-old-space-size --max-semi-space-size --stack-size --max-heap-size --experimental-specifier-resolution
    --es-module-specifier-resolution --initial-heap-size --random-seed`,
  rows: [
    { names: '-e --eval', value: 'text', rule: inlineCode },
    { names: '-p --print', value: 'text', optional: true, rule: inlineCode },
    { names: '-pe', value: 'text', rule: inlineCode },
    { names: '-i --interactive', rule: inlineCode },
    { names: '--input-type', value: 'text', rule: inlineCode },
    {
      names: '-r --require --import --loader --experimental-loader --test-global-setup',
      value: noteModule,
      rule: preloads,
    },
    {
      names: '--env-file --env-file-if-exists',
      value: (file, notes) => notes.secret(file, 'handed'),
      rule: preloads,
    },
    {
      names: `--experimental-package-map --experimental-policy --openssl-config
        --icu-data-dir`,
      value: 'read',
      rule: preloads,
    },
    {
      names: '--experimental-config-file --experimental-default-config-file',
      value: 'read',
      optional: true,
      rule: preloads,
    },
    { names: '--snapshot-blob', value: 'run', rule: preloads },
    { names: '--test-reporter', value: noteReporter },
    { names: '--test-reporter-destination', value: noteDestination },
    { names: '--watch-path', value: 'read' },
    { names: '--allow-fs-read --allow-fs-write', value: 'text' },
    { names: '--inspect --inspect-brk --inspect-wait', value: 'text', optional: true, rule: opensDebugger },
    { names: '--inspect-port --debug-port --inspect-publish-uid', value: 'text', rule: opensDebugger },
    {
      names: `--experimental-network-inspection --experimental-worker-inspection --experimental-storage-inspection
        --experimental-inspector-network-resource`,
      rule: opensDebugger,
    },
    {
      names: '--cpu-prof --heap-prof --prof --prof-process --perf-basic-prof --perf-prof',
      rule: writesReports,
    },
    {
      names: `--cpu-prof-dir --heap-prof-dir --diagnostic-dir --report-dir --report-directory --cpu-prof-name --heap-prof-name
        --report-filename --redirect-warnings --tls-keylog --localstorage-file --test-rerun-failures
        --trace-event-file-pattern`,
      value: 'write',
      rule: writesReports,
    },
    {
      names: '--trace-event-categories --heapsnapshot-signal --heapsnapshot-near-heap-limit --report-signal',
      value: 'text',
      rule: writesReports,
    },
    { names: '--report-on-fatalerror --report-on-signal --report-uncaught-exception', rule: writesReports },
    { names: '--build-snapshot', rule: writesReports },
    { names: '--build-snapshot-config --experimental-sea-config', value: 'read', rule: writesReports },
    { names: '--run', value: 'text' },
  ],
});

/** Options with which node needs no script. Without them and without a script, it reads code from standard input. */
const needsNoScript = [
  ...wordList(
    '--test --run --v8-options --completion-bash --build-snapshot-config --experimental-sea-config',
  ).map((name) => [name]),
  ...['-h --help', '-v --version', '-e --eval -p --print -pe'].map(wordList),
];

/** Options end at the script; the words after it are its arguments. Options are not abbreviated, and `_` equals `-`. */
export const node: Manual = {
  names: ['node'],
  rules: [runsScript, inlineCode, preloads, opensDebugger, writesReports],
  read(args, notes) {
    notes.raise(runsScript);
    const { options: words, script } = readNode(args);
    for (const word of words) notes.option(word);
    const state = new OptionState(words);
    if (state.wasGiven('--run')) notes.path('package.json', 'run');
    noteScript(script, state, notes);
  },
};

/** Splits the words of node: `script` is the script and its arguments. */
export function readNode(args: readonly string[]): {
  readonly options: readonly OptionWord[];
  readonly script: readonly string[];
} {
  const words: OptionWord[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] as string;
    if (arg === '--') return { options: words, script: args.slice(at + 1) };
    if (!arg.startsWith('-') || arg === '-') return { options: words, script: args.slice(at) };
    const word = readWord(arg, args[at + 1]);
    if (word.kind === 'option' && word.value !== undefined && !arg.includes('=')) at++;
    words.push(word);
  }
  return { options: words, script: [] };
}

function readWord(arg: string, next: string | undefined): OptionWord {
  const equals = arg.indexOf('=');
  const spelled = equals < 0 ? arg : arg.slice(0, equals);
  const glued = equals < 0 ? undefined : arg.slice(equals + 1);
  const name = spelled.startsWith('--') ? spelled.replaceAll('_', '-') : spelled;
  const row = name.startsWith('--') ? options.long.get(name.slice(2)) : options.short.get(name.slice(1));
  if (row === undefined) {
    const negated = name.startsWith('--no-') ? options.long.get(name.slice('--no-'.length)) : undefined;
    // Only a flag can be negated.
    return negated && negated.value === undefined
      ? { kind: 'negation', rows: [negated], spelled: arg, value: glued }
      : { kind: 'unknown', spelled: arg, value: glued };
  }
  // Node takes no word with a dash as a value, so that word is the next option.
  const takesNext =
    row.value !== undefined &&
    !row.optional &&
    glued === undefined &&
    next !== undefined &&
    !/^-./.test(next);
  return { kind: 'option', row, spelled: arg, value: takesNext ? next : glued };
}

function noteScript(words: readonly string[], state: OptionState, notes: Notes): void {
  const [script, ...rest] = words;
  if (script === undefined) {
    if (!needsNoScript.some((names) => state.isOn(names))) notes.raise(inlineCode, 'standard input');
  } else if (state.wasGiven('-e', '--eval', '-p', '--print', '-pe')) {
    // -p takes the code as the next word, unless -e gave it already.
    const isCodeFirst = !state.wasGiven('-e', '--eval', '-pe');
    notes.scriptArguments(isCodeFirst ? rest : words);
  } else if (script === '-') {
    notes.raise(inlineCode, script);
  } else if (script === 'inspect' || script === 'debug') {
    notes.raise(opensDebugger, script);
    for (const text of rest) if (!text.startsWith('-')) notes.path(text, 'run');
  } else if (state.wasGiven('--entry-url')) {
    notes.unknownOption(script);
    if (/^\s*(?!file:)[A-Za-z][\w+.-]+:/i.test(script)) notes.raise(inlineCode, script);
    else notes.path(decodedUrl(script.trim()).replace(/^file:(\/\/)?/i, ''), 'run');
  } else if (state.isOn(['--test'])) {
    for (const text of words) notes.path(text, 'run');
  } else if (state.isOn(['--run'])) {
    notes.scriptArguments(words);
  } else {
    noteRun(script, notes);
    notes.scriptArguments(rest);
  }
}
