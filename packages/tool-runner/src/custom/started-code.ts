import { basename } from 'node:path';
import type { ServerEntry } from './server-entry.ts';

type CommandLine = Pick<Extract<ServerEntry['reach'], { kind: 'stdio' }>, 'command' | 'args' | 'env'>;

/** A path as a command line has it. There may be nothing there. */
export interface CodePath {
  readonly path: string;
  /** Otherwise only if it looks like code: `server.ts data.csv` names both. */
  readonly isCode: boolean;
}

/**
 * What a command line would start, as far as its words say: files that it names, in an option (`--require=./a.js`), in a
 * line for a shell or in a variable (`NODE_OPTIONS`) too; what an interpreter adds to a name (`node tools/server`,
 * `node .`, `python -m tools`); what a package manager reads (`npm run serve`, `npx server`).
 */
export function startedCode({ command, args, env }: CommandLine): readonly CodePath[] {
  const inner = [...args, ...Object.values(env)].flatMap((word) => word.split(/[\s=:;,&|'"()]+/));
  const named = [command, ...args, ...inner].filter((word) => word !== '');
  return [
    { path: command, isCode: true },
    ...named.map((path) => ({ path, isCode: false })),
    ...named.flatMap((path) => addedExtensions.map((added) => ({ path: path + added, isCode: false }))),
    ...impliedPaths(basename(command), args).map((path) => ({ path, isCode: true })),
  ];
}

const addedExtensions = ['.js', '.cjs', '.mjs', '.ts', '.cts', '.mts', '.py'];
const interpreter = /^(node|nodejs|bun|deno|tsx|ts-node|python[\d.]*)$/;
const ofPackage = ['package.json', 'index.js', 'index.cjs', 'index.mjs', 'index.ts'];

function impliedPaths(program: string, args: readonly string[]): readonly string[] {
  const first = args.find((word) => !word.startsWith('-'));
  if (['npm', 'pnpm', 'yarn'].includes(program)) return ['package.json', '.pnp.cjs'];
  if (['npx', 'bunx'].includes(program)) return first === undefined ? [] : [`node_modules/.bin/${first}`];
  if (!interpreter.test(program)) return [];
  if (!program.startsWith('python'))
    return first === undefined ? [] : ofPackage.map((name) => `${first}/${name}`);
  const module = args.includes('-m') ? args[args.indexOf('-m') + 1] : undefined;
  const path = module?.replaceAll('.', '/') ?? first;
  return path === undefined ? [] : ['.py', '/__init__.py', '/__main__.py'].map((added) => path + added);
}

/** What a `package.json` says is started when its folder is named. */
export function mainOf(manifest: string): readonly string[] {
  try {
    const { main } = JSON.parse(manifest) as { readonly main?: unknown };
    return typeof main === 'string' ? [main, `${main}.js`, `${main}/index.js`] : [];
  } catch {
    return [];
  }
}
