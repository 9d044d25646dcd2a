import type { ServerQuestion, ToolServerList } from '@countersign/tool-runner';
import { usageOf } from '../command-context.ts';
import { layOut, type Paragraph } from '../screen/paragraph.ts';
import type { Words } from '../words.ts';
import type { ToolsContext } from './list-servers.ts';

/**
 * Shows what a tool server would run, asks, and records that the person allowed exactly that. A program passes the
 * digest of what it looked at instead. Returns 1 if the server was not allowed.
 */
export async function allowServer(
  servers: ToolServerList,
  name: string,
  digest: string | undefined,
  { terminal, words, json }: ToolsContext,
): Promise<number> {
  const question = servers.question(name);
  if (digest === undefined) {
    const columns = terminal.screen?.columns ?? 110;
    if (json) await terminal.write(`${JSON.stringify(question)}\n`);
    else
      await terminal.write(
        `${layOut(questionParagraphs(question, words), columns, terminal.color).join('\n')}\n`,
      );
    if (question.isAllowed) {
      if (!json) await terminal.write(`${words.alreadyAllowed(name)}\n`);
      return 0;
    }
    if (json) return 1;
    if (!terminal.interactive) throw usageOf('tools')(words.needsDigest);
    if (!(await saysYes(terminal, words))) {
      terminal.writeError(`${words.declined}\n`);
      return 1;
    }
  }
  servers.allow(name, digest ?? question.digest);
  if (json) await terminal.write(`${JSON.stringify({ ...servers.question(name) })}\n`);
  else await terminal.write(`${words.allowed(name)}\n`);
  return 0;
}

export async function forbidServer(
  servers: ToolServerList,
  name: string,
  { terminal, words, json }: ToolsContext,
): Promise<number> {
  const wasAllowed = servers.forbid(name);
  if (json) await terminal.write(`${JSON.stringify({ name, was_allowed: wasAllowed })}\n`);
  else await terminal.write(`${wasAllowed ? words.forbidden(name) : words.wasNotAllowed(name)}\n`);
  return wasAllowed ? 0 : 1;
}

async function saysYes(terminal: ToolsContext['terminal'], words: Words['tools']): Promise<boolean> {
  for await (const line of terminal.typed(words.question))
    return words.yes.includes(line.trim().toLowerCase());
  return false;
}

function questionParagraphs(question: ServerQuestion, words: Words['tools']): Paragraph[] {
  const { name, owner, runs, cwd, env, headers, network, workspace, files, digest, isIsolated, wasAllowed } =
    question;
  const fact = (label: string, text: string, style?: Paragraph['style']): Paragraph => ({
    lead: `  ${label.padEnd(14)}`,
    leadStyle: 'dim',
    text,
    style,
  });
  const isolation = isIsolated
    ? fact(words.isolationLabel, words.isolated)
    : fact(words.isolationLabel, words.notIsolated, 'yellow');
  return [
    ...(wasAllowed ? [{ text: words.changed, style: 'yellow' as const }] : []),
    { text: words.asks(name, words.owners[owner]) },
    { text: '' },
    fact(words.command, runs, 'bold'),
    ...(cwd === '' ? [] : [fact(words.folder, cwd)]),
    ...files.map((path) => fact(words.program, path)),
    ...env.map((variable) => fact(words.variable, `${variable.name}=${variable.value}`)),
    ...headers.map((header) => fact(words.header, header)),
    fact(words.workspaceLabel, words.workspace[workspace]),
    ...(cwd === '' ? [] : [isolation]),
    fact(words.networkLabel, network ? words.networkYes : words.networkNo, network ? 'yellow' : undefined),
    fact(words.rulesLabel, words.rules(name)),
    fact(words.coversLabel, words.covers(files.length)),
    fact(words.digest, digest, 'dim'),
    { text: '' },
  ];
}
