import type { CallResponse, Client } from '@countersign/client';
import { isLiveToken } from '@countersign/protocol';
import { type CommandContext, numberOption, usageOf } from '../command-context.ts';
import { helpText, readOptions } from '../command-options.ts';
import { visible } from '../screen/paragraph.ts';
import { serverAccess } from '../sign-in/server-access.ts';
import { findProject, workspaceRoot } from '../sign-in/workspace-project.ts';
import { paints } from '../terminal.ts';
import type { Words } from '../words.ts';

const usage = usageOf('tokens');
type Token = CallResponse<'listTokens'>['tokens'][number];

/** `countersign tokens new|list|revoke` (AP-9). */
export async function tokensCommand(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values, positionals } = readOptions('tokens', argv);
  const { terminal, env } = context;
  const words = context.words(values.lang);
  if (values.help) return terminal.write(helpText('tokens', words)).then(() => 0);
  const own = words.tokens;
  const [command = 'list', named, ...more] = positionals;
  if (more[0] !== undefined) throw usage(words.unexpected(more[0]));
  const client = () => serverAccess(values.server, words, env).client;
  const print = (value: object) => terminal.write(`${JSON.stringify(value)}\n`);
  switch (command) {
    case 'new': {
      if (named === undefined || named.trim() === '') throw usage(own.needsName);
      const days = numberOption('days', values.days, { min: 1, max: 366 }, words, usage);
      const project = await boundProject(client(), values, words);
      const { token, details } = await client().createToken({
        body: {
          name: named.slice(0, 100),
          scope: 'agent',
          expires_in_seconds: days * 24 * 3600,
          ...(project !== undefined && { project_id: project }),
        },
      });
      if (values.json) await print({ token, ...details });
      else {
        // Only the token goes to standard output, for pipes.
        terminal.writeError(`${own.made(visible(details.name))}\n`);
        await terminal.write(`${token}\n`);
      }
      return 0;
    }
    case 'list': {
      if (named !== undefined) throw usage(words.unexpected(named));
      const { tokens } = await client().listTokens();
      const shown = tokens.filter((token) => values.all || isLiveToken(token));
      if (values.json) for (const token of shown) await print(token);
      else {
        const lines = shown.map((token) => tokenLine(token, own, terminal.color));
        await terminal.write(`${lines.length === 0 ? own.none : lines.join('\n')}\n`);
      }
      return 0;
    }
    case 'revoke': {
      if (named === undefined) throw usage(own.which);
      const found = (await client().listTokens()).tokens.filter(({ token_id }) => token_id.startsWith(named));
      const [token, another] = found;
      if (!token) throw usage(own.unknown(named));
      if (another) throw usage(own.ambiguous(named));
      await client().revokeToken({ params: { token_id: token.token_id } });
      if (values.json) await print({ success: true, token_id: token.token_id, name: token.name });
      else await terminal.write(`${own.revoked(visible(token.name))}\n`);
      return 0;
    }
    default:
      throw usage(words.noCommand(command));
  }
}

async function boundProject(
  client: Client,
  { project, workspace }: { project?: string | undefined; workspace?: string | undefined },
  words: Words,
): Promise<string | undefined> {
  if (project === undefined && workspace === undefined) return undefined;
  const root = workspaceRoot(workspace);
  const found = await findProject(client, { root, projectId: project, inside: true }, words, usage);
  if (!found) throw usage(words.server.noProject(root));
  return found.project_id;
}

/** `8f3a…  agent      Claude Code   all projects · used 2026-11-15 · until 2027-02-13`. */
function tokenLine(token: Token, words: Words['tokens'], color: boolean): string {
  const { token_id, scope, name, project_id, last_used_at, expires_at, revoked_at } = token;
  const day = (time: string) => time.slice(0, 10);
  const end =
    revoked_at !== null
      ? words.ended
      : expires_at === null
        ? words.forever
        : isLiveToken(token)
          ? words.until(day(expires_at))
          : words.expired;
  const facts = [
    ...(scope === 'agent' ? [project_id ?? words.everywhere] : []),
    last_used_at === null ? words.never : words.used(day(last_used_at)),
    end,
  ];
  const paint = paints(color);
  return `${visible(token_id)}  ${words.scope[scope].padEnd(11)} ${visible(name)}  ${paint.dim(facts.join(' · '))}`;
}
