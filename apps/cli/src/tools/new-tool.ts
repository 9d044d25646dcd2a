import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ToolServerList } from '@countersign/tool-runner';
import { usageOf } from '../command-context.ts';
import { visible } from '../screen/paragraph.ts';
import type { Words } from '../words.ts';
import type { ToolsContext } from './list-servers.ts';

export interface NewTool extends ToolsContext {
  readonly name: string | undefined;
  /** Where to create it; `./NAME` by default. */
  readonly folder: string | undefined;
  readonly add: boolean;
  /** The person's configuration folder. */
  readonly config: string;
  readonly servers: () => ToolServerList;
}

const usage = usageOf('tools');

/** Creates a working tool, then adds it or says how to. */
export async function newTool(about: NewTool): Promise<number> {
  const { name, terminal, words, json, config, add } = about;
  if (name === undefined || !/^[a-z][a-z0-9-]{0,31}$/.test(name)) throw usage(words.nameNeeded);
  const folder = resolve(about.folder ?? name);
  if (existsSync(folder)) throw usage(words.exists(folder));
  const configFile = join(config, 'mcp.json');
  const configured = add ? readConfiguration(configFile, name, words) : undefined;
  makeFolder(folder, name);
  const script = join(realpathSync(folder), `${name}.ts`);
  const entry = { command: 'node', args: [script] };
  if (configured) {
    addEntry(configFile, configured, name, entry);
    // The person has just created this server, so allow it without a question, even inside the workspace.
    const { isAllowed, digest } = about.servers().question(name);
    if (!isAllowed) about.servers().allow(name, digest);
  }
  if (json) {
    const line = { name, file: script, entry, configuration: configFile, added: configured !== undefined };
    await terminal.write(`${JSON.stringify(line)}\n`);
    return 0;
  }
  const lines = [
    words.made(visible(script)),
    ...(configured
      ? [words.added(configFile)]
      : [words.addThis(configFile), '', `  "${name}": ${JSON.stringify(entry)}`, '']),
    words.tryIt(name),
  ];
  await terminal.write(`${lines.join('\n')}\n`);
  return 0;
}

/** The installed `@countersign/tool-kit`. */
const toolKit = fileURLToPath(new URL('../../../../packages/tool-kit/src/index.ts', import.meta.url));

function makeFolder(folder: string, name: string): void {
  mkdirSync(join(folder, 'node_modules', '@countersign'), { recursive: true });
  writeFileSync(join(folder, `${name}.ts`), toolTemplate(name));
  const manifest = { name, private: true, type: 'module' };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  symlinkSync(
    realpathSync(dirname(dirname(toolKit))),
    join(folder, 'node_modules', '@countersign', 'tool-kit'),
    'junction',
  );
}

type Configuration = { mcpServers?: Record<string, unknown>; [other: string]: unknown };

/** Throws if the configuration is invalid or has this name already. Call it before creating anything. */
function readConfiguration(path: string, name: string, words: Words['tools']): Configuration {
  if (!existsSync(path)) return {};
  let file: unknown;
  try {
    file = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    throw usage(words.notAdded(path));
  }
  const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject(file) || !isObject(file.mcpServers ?? {})) throw usage(words.notAdded(path));
  if (Object.hasOwn((file as Configuration).mcpServers ?? {}, name)) throw usage(words.taken(name, path));
  return file as Configuration;
}

function addEntry(path: string, configured: Configuration, name: string, entry: object): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const file = { ...configured, mcpServers: { ...configured.mcpServers, [name]: entry } };
  const fresh = `${path}.${process.pid}`;
  writeFileSync(fresh, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
  renameSync(fresh, path);
}

/** The source of a new tool: a deployment, the example of the founding documents. It runs unchanged. */
export const toolTemplate = (name: string): string => `import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { createToolServer, defineTool, z } from '@countersign/tool-kit';

const run = promisify(execFile);

const tool = defineTool({
  name: '${name}',
  description: 'Deploys the application to an environment.',
  parameters: z.object({
    environment: z.enum(['staging', 'production']).describe('Where to deploy it.'),
    skip_tests: z.boolean().default(false).describe('Deploy even if the tests were not run.'),
  }),
  async handler({ environment, skip_tests }, { progress, signal }) {
    if (!skip_tests) {
      progress(10, 'Running the tests');
      await run('node', ['--test'], { signal });
    }
    progress(60, \`Deploying to \${environment}\`);
    // Your own command here. It runs in the workspace, without network unless your mcp.json grants it.
    const { stdout } = await run('echo', [\`Deployed to \${environment}.\`], { signal });
    return stdout.trim();
  },
});

createToolServer({ name: '${name}' }).registerTool(tool).start();
`;
