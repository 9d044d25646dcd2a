import { parseArgs } from 'node:util';
import { helpText as fullHelp } from '@countersign/words';
import type { Words } from './words.ts';

const flag = { type: 'boolean', default: false } as const;
const text = { type: 'string' } as const;
const textOr = <const Default extends string>(value: Default) =>
  ({ type: 'string', default: value }) as const;

/** Options that every command takes. */
const common = { help: { ...flag, short: 'h' }, json: flag, lang: text } as const;
/** Options of the commands that start a runner. */
const runner = {
  'run-unisolated': flag,
  'end-with-input': flag,
  'log-level': text,
  'log-file': text,
} as const;

/** The options of each command. packages/words describes them under the same names; a test compares the two. */
export const commandOptions = {
  acp: { ...common, server: text, name: textOr('editor'), pair: flag, unpair: flag },
  approvals: {
    ...common,
    server: text,
    digest: text,
    high: flag,
    'include-high': flag,
    scope: textOr('once'),
    pattern: text,
    params: text,
    reason: text,
    message: text,
  },
  audit: { database: text, user: text, witness: text, format: textOr('ndjson'), json: flag, lang: text },
  chat: { ...common, server: text, workspace: text, project: text, session: text, new: flag, model: text },
  connect: { ...common, ...runner, server: text, project: text, 'no-prompt': flag },
  doctor: { ...common, server: text, 'add-programs': flag },
  history: {
    ...common,
    server: text,
    tool: text,
    status: text,
    risk: text,
    project: text,
    session: text,
    run: text,
    since: text,
    until: text,
    limit: textOr('50'),
    cursor: text,
  },
  mcp: { ...common, server: text, project: text, name: textOr('MCP agent') },
  open: { ...common, workspace: text, job: text, 'no-open': flag, 'end-with-input': flag },
  policy: { workspace: text, policy: text, json: flag, lang: text },
  'policy add': {
    ...common,
    tool: text,
    path: text,
    'max-risk': text,
    id: text,
    why: text,
    server: text,
    yes: { ...flag, short: 'y' },
    'dry-run': flag,
  },
  'policy backtest': { ...common, server: text, since: text },
  'policy edit': { ...common, server: text, yes: { ...flag, short: 'y' } },
  'policy import': { ...common, workspace: text, server: text, 'all-exact': flag },
  'policy list': common,
  'sign-in': { ...common, server: text },
  'sign-out': { ...common, server: text },
  tokens: { ...common, server: text, workspace: text, project: text, days: textOr('90'), all: flag },
  tools: { ...common, workspace: text, digest: text, in: text, add: flag },
  try: {
    ...common,
    land: flag,
    timeout: textOr('30'),
    'max-mib': textOr('1024'),
    'max-files': textOr('100000'),
  },
  undo: {
    ...common,
    server: text,
    run: text,
    last: flag,
    force: flag,
    offline: flag,
    workspace: text,
    timeout: textOr('30'),
  },
  up: { ...common, ...runner, 'no-open': flag, port: text, prompt: flag },
} as const;

type Command = keyof typeof commandOptions;

const withoutPositionals: readonly Command[] = ['audit', 'history', 'policy', 'sign-out'];

/** Parses a command line into options and positional arguments. */
export const readOptions = <Name extends Command>(command: Name, argv: readonly string[]) =>
  parseArgs({
    args: [...argv],
    allowPositionals: !withoutPositionals.includes(command) as true,
    options: commandOptions[command],
  });

/** `--help` of a command, or of `countersign` itself. */
export const helpText = (name: keyof Words['help'], { help, optionsTitle }: Words): string =>
  fullHelp(`countersign${name === 'main' ? '' : ` ${name}`}`, help[name], optionsTitle);
