import {
  connectToJob,
  type JobPort,
  listJobPorts,
  personsFolders,
  workspaceAt,
} from '@countersign/tool-runner';
import { type CommandContext, numberOption, usageOf } from '../command-context.ts';
import { helpText, readOptions } from '../command-options.ts';
import { endWithInput } from '../end-with-input.ts';
import { visible } from '../screen/paragraph.ts';
import { workspaceRoot } from '../sign-in/workspace-project.ts';
import { openInBrowser } from '../up/open-in-browser.ts';
import type { Words } from '../words.ts';
import { PortForward } from './port-forward.ts';

const usage = usageOf('open');

/** `countersign open [PORT]`: what a background job of a conversation serves, in the person's browser (RN-5). */
export async function openCommand(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values, positionals } = readOptions('open', argv);
  const { terminal, env } = context;
  const words = context.words(values.lang);
  if (values.help) return terminal.write(helpText('open', words)).then(() => 0);
  if (values['end-with-input']) endWithInput();
  const [named, unexpected] = positionals;
  if (unexpected !== undefined) throw usage(words.unexpected(unexpected));
  const range = { min: 1, max: 65_535 };
  const port = named === undefined ? undefined : numberOption('port', named, range, words, usage);
  const root = workspaceRoot(values.workspace);
  const { stateFolder } = workspaceAt(root, { folders: personsFolders(env) });
  const ports = await listJobPorts(stateFolder);
  if (port === undefined) {
    const lines = ports.length === 0 ? [words.open.none(root)] : ports.map(portLine);
    await terminal.write(values.json ? `${JSON.stringify({ ports })}\n` : `${lines.join('\n')}\n`);
    return 0;
  }
  const wanted = choose(ports, port, values.job, words);
  const forward = new PortForward(() => connectToJob(stateFolder, wanted));
  const local = await forward.listen(port);
  const address = `http://localhost:${local}/`;
  if (values.json) await terminal.write(`${JSON.stringify({ address, ...wanted })}\n`);
  else await terminal.write(`${words.open.forwarded(address, port, visible(wanted.command))}\n`);
  if (!values['no-open'] && !values.json) await openInBrowser(address, env);
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
  });
  await forward.close();
  return 0;
}

const portLine = ({ port, job_id, command }: JobPort): string =>
  `${String(port).padStart(5)}  ${job_id}  ${visible(command)}`;

/** Conversations have networks of their own, so several jobs may have the same port. */
function choose(ports: readonly JobPort[], port: number, job: string | undefined, { open }: Words): JobPort {
  const found = ports.filter((known) => known.port === port && (job === undefined || known.job_id === job));
  const [first, ...others] = found;
  if (!first) throw usage(open.notListening(port));
  if (others.length > 0) throw usage(open.several(port, found.map(({ job_id }) => job_id).join(', ')));
  return first;
}
