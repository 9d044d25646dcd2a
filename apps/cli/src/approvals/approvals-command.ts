import { approvalOf, projectsWithPreviews, rejectionOf } from '@countersign/approvals';
import { type ApprovalDecision, type Client, decide } from '@countersign/client';
import {
  type Approval,
  type CheckedCard,
  CountersignError,
  checkedCard,
  messageOf,
  toolParamsSchema,
} from '@countersign/protocol';
import { type CommandContext, usageOf } from '../command-context.ts';
import { helpText, readOptions } from '../command-options.ts';
import { layOut } from '../screen/paragraph.ts';
import { type ServerAccess, serverAccess } from '../sign-in/server-access.ts';
import { paints } from '../terminal.ts';
import type { Words } from '../words.ts';
import { listLine, printedCard } from './approval-card.ts';
import { runApprovalsSession } from './approvals-session.ts';

const usage = usageOf('approvals');

/** `countersign approvals …` (AP-1, AP-2, AP-5, AP-6, AP-8). */
export async function approvalsCommand(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values, positionals } = readOptions('approvals', argv);
  const { terminal, env } = context;
  const words = context.words(values.lang);
  if (values.help) return terminal.write(helpText('approvals', words)).then(() => 0);
  const [action = 'list', id, ...others] = positionals;
  if (others[0] !== undefined) throw usage(words.unexpected(others[0]));
  if (!['list', 'show', 'approve', 'reject', 'watch'].includes(action)) {
    throw usage(words.noCommand(`approvals ${action}`));
  }
  if (!['list', 'watch'].includes(action) && !id) throw usage(words.approvals.which);
  const access = serverAccess(values.server, words, env);
  const request: Request = { access, values, terminal, env, words };
  if (action === 'list') return list(request);
  if (action === 'watch') return watch(request);
  const approval = await findApproval(access.client, id ?? '', words);
  if (action === 'show') return show(approval, request);
  if (action === 'approve') return approve(approval, request);
  const { reason, message } = values;
  const answer = { ...(reason !== undefined && { reason }), ...(message !== undefined && { message }) };
  return send(rejectionOf(approval, answer), request);
}

/** What each subcommand works with. Each returns the exit code. */
interface Request extends Pick<CommandContext, 'terminal' | 'env'> {
  readonly access: ServerAccess;
  readonly values: ReturnType<typeof readOptions<'approvals'>>['values'];
  readonly words: Words;
}

async function list({ access, values, terminal, words }: Request): Promise<number> {
  const { approvals } = await access.client.listApprovals();
  if (values.json) {
    for (const approval of approvals) await terminal.write(`${JSON.stringify(approval)}\n`);
    return 0;
  }
  if (approvals.length === 0) return terminal.write(`${words.approvals.none}\n`).then(() => 0);
  const { color } = terminal;
  const paint = paints(color);
  const columns = terminal.screen?.columns ?? 100;
  const frame = { columns, rows: 0, color, words };
  const lines = approvals.map((approval) => {
    const id = approval.approval_id.slice(0, idPrefixLength(approvals));
    return `${paint.cyan(id)}${listLine(approval, approval.remaining_ms, false, columns - id.length - 2, frame)}`;
  });
  const title = paint.bold(words.approvals.waiting(approvals.length));
  const hint = layOut([{ text: words.approvals.hint, style: 'dim' }], columns, color);
  await terminal.write(`${[title, ...lines, ...hint].join('\n')}\n`);
  return 0;
}

async function show(approval: Approval, { access, values, terminal, words }: Request): Promise<number> {
  if (values.json) return terminal.write(`${JSON.stringify(approval)}\n`).then(() => 0);
  const frame = { columns: terminal.screen?.columns ?? 100, rows: 0, color: terminal.color, words };
  const digest = approval.digest === null ? [] : [paints(terminal.color).dim(approval.digest)];
  const isComing = approval.preview === null && (await isPreviewed(access.client, approval));
  await terminal.write(`${[...printedCard(approval, isComing, frame), ...digest].join('\n')}\n`);
  return 0;
}

/** Whether a runner that makes previews is connected; false if the server does not respond. */
const isPreviewed = (client: Client, { project_id }: Approval): Promise<boolean> =>
  client.listRunners().then(
    ({ runners }) => projectsWithPreviews(runners).has(project_id),
    () => false,
  );

/** In a terminal, shows the card and asks. A program passes the digest of what it looked at, and `--high` (RK-1). */
async function approve(approval: CheckedCard<Approval>, request: Request): Promise<number> {
  const { access, values, terminal, env, words } = request;
  if (values.digest === undefined) {
    if (!terminal.screen || values.json) throw usage(words.approvals.needsDigest);
    const { screen, color } = terminal;
    const status = await runApprovalsSession({ access, screen, color, words, env, only: approval });
    return status === 'approved' || status === 'rejected' ? 0 : 1;
  }
  if (approval.unfit) throw new CountersignError('PREVIEW_MISMATCH');
  if (approval.risk_level === 'HIGH' && !values.high) throw usage(words.approvals.needsHigh);
  const choice = {
    digest: values.digest,
    scope: values.scope as 'once',
    ...(values.pattern !== undefined && { pattern: values.pattern }),
    ...(values.params !== undefined && { tool_params: readParams(values.params) }),
    ...(values['include-high'] && { include_high: true }),
  };
  return send(approvalOf(approval, choice), request);
}

async function send(
  decision: ApprovalDecision,
  { access, values, terminal, words }: Request,
): Promise<number> {
  const sent = await decide(access.client, decision);
  if (values.json) {
    const { approval_id } = decision.params;
    const answer =
      sent.outcome === 'recorded'
        ? sent.response
        : { success: sent.outcome === 'already', approval_id, ...sent.standing };
    await terminal.write(`${JSON.stringify({ outcome: sent.outcome, ...answer })}\n`);
  } else if (sent.outcome === 'recorded')
    await terminal.write(`${words.approvals.recorded[decision.decision]}\n`);
  else if (sent.outcome === 'already') await terminal.write(`${words.approvals.already}\n`);
  else terminal.writeError(`${words.approvals.overruled(sent.standing.status)}\n`);
  return sent.outcome === 'overruled' ? 1 : 0;
}

async function watch({ access, terminal, env, words }: Request): Promise<number> {
  const { screen, color } = terminal;
  if (!screen) throw usage(words.approvals.noTerminal);
  await runApprovalsSession({ access, screen, color, words, env });
  return 0;
}

/**
 * Finds an approval by its id, or by a prefix that only one pending approval has. `checkedCard` removes a preview that
 * does not match the digest (AP-8).
 */
async function findApproval(client: Client, id: string, words: Words): Promise<CheckedCard<Approval>> {
  const { approvals } = await client.listApprovals();
  const found = approvals.filter(({ approval_id }) => approval_id.startsWith(id));
  if (found.length > 1) throw usage(words.approvals.ambiguous(id));
  const [only] = found;
  if (!only && id.length < 20) throw usage(words.approvals.unknown(id));
  if (only && only.omitted === undefined) return checkedCard(only);
  const { approval } = await client.getApproval({ params: { approval_id: only?.approval_id ?? id } });
  return checkedCard(approval);
}

function readParams(text: string): Approval['tool_params'] {
  try {
    return toolParamsSchema.parse(JSON.parse(text));
  } catch (cause) {
    const problem = messageOf(cause);
    throw new CountersignError('INVALID_JSON', { problem: problem.slice(0, 200) }, { cause });
  }
}

/** The shortest prefix length that keeps these ids apart, at least eight. */
function idPrefixLength(approvals: readonly Approval[]): number {
  for (let letters = 8; letters < 36; letters += 1) {
    const short = new Set(approvals.map(({ approval_id }) => approval_id.slice(0, letters)));
    if (short.size === approvals.length) return letters;
  }
  return 36;
}
