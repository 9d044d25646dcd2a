import { join } from 'node:path';
import type { ServerStatus } from '@countersign/tool-runner';
import { layOut, type Paragraph } from '../screen/paragraph.ts';
import type { Terminal } from '../terminal.ts';
import type { Words } from '../words.ts';

export interface ToolsContext {
  readonly terminal: Terminal;
  /** The texts of `countersign tools`. */
  readonly words: Words['tools'];
  /** The texts of all commands. */
  readonly own: Words;
  readonly json: boolean;
}

/** Prints the state of each server. Returns 1 if one should run but does not. */
export async function listServers(
  servers: readonly ServerStatus[],
  config: string,
  { terminal, words, own, json }: ToolsContext,
): Promise<number> {
  const isWell = servers.every(({ state }) => state === 'ready' || state === 'disabled');
  if (json) {
    await terminal.write(`${JSON.stringify({ ok: isWell, servers: servers.map(forPrograms) })}\n`);
    return isWell ? 0 : 1;
  }
  const paragraphs: Paragraph[] =
    servers.length === 0
      ? [{ text: words.none(join(config, 'mcp.json')) }]
      : servers.flatMap((server) => serverParagraphs(server, words, own));
  const columns = terminal.screen?.columns ?? 110;
  await terminal.write(`${layOut(paragraphs, columns, terminal.color).join('\n')}\n`);
  return isWell ? 0 : 1;
}

const forPrograms = ({ outputTail, leftOut, tools, ...server }: ServerStatus) => ({
  ...server,
  last_words: outputTail ?? null,
  left_out: leftOut,
  tools: tools.map(({ tool }) => tool),
});

const styles = {
  ready: 'green',
  starting: 'yellow',
  not_allowed: 'yellow',
  disabled: 'dim',
  failed: 'red',
  unusable: 'red',
} as const;

function serverParagraphs(server: ServerStatus, words: Words['tools'], { said, risk }: Words): Paragraph[] {
  const { name, owner, state, runs, network, problem, outputTail, tools, leftOut } = server;
  const facts = [words.owners[owner], ...(network ? [words.network] : [])].join(', ');
  const why = problem === undefined ? undefined : said(problem);
  const told = why !== undefined && state === 'not_allowed' ? words.notAllowed(name, why) : why;
  return [
    { lead: `${name}  `, leadStyle: 'bold', text: words.states[state], style: styles[state] },
    ...(runs === '' ? [] : [indented(`${runs}  (${facts})`, 'dim')]),
    ...(told === undefined ? [] : [indented(told, 'yellow')]),
    ...(state === 'ready' || outputTail === undefined
      ? []
      : [indented(words.lastWords, 'dim'), indented(outputTail.trimEnd(), 'dim')]),
    ...tools.map(({ tool }) => {
      const about = [
        tool.risk_level === 'LOW' ? words.asksNobody : risk[tool.risk_level],
        ...(tool.read_only ? [words.readOnly] : []),
        ...(tool.destructive ? [words.destructive] : []),
        ...(tool.requires_approval ? [words.requiresApproval] : []),
        ...(tool.category === 'custom' ? [] : [words.category(tool.category)]),
      ];
      const [first = ''] = tool.description.split('\n');
      return {
        lead: `  ${tool.name}  `,
        leadStyle: 'cyan' as const,
        text: `${about.join(', ')}  ${first.slice(0, 200)}`,
      };
    }),
    ...leftOut.map((what) => indented(`${words.leftOut}: ${said(what)}`, 'yellow')),
    { text: '' },
  ];
}

const indented = (text: string, style: Paragraph['style']): Paragraph => ({ lead: '  ', text, style });
