import { callTitle } from '@countersign/approvals';
import type { CallInput } from '@countersign/client';
import {
  type Execution,
  type ExecutionStatus,
  executionStatuses,
  type RiskLevel,
  riskLevels,
} from '@countersign/protocol';
import { type CommandContext, numberOption, usageOf } from './command-context.ts';
import { helpText, readOptions } from './command-options.ts';
import { visible } from './screen/paragraph.ts';
import { fit, widthOf } from './screen/text-width.ts';
import { serverAccess } from './sign-in/server-access.ts';
import { statusMark } from './status-mark.ts';
import { paints } from './terminal.ts';
import type { Words } from './words.ts';

const usage = usageOf('history');

/** `countersign history` (RE-2). */
export async function historyCommand(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values } = readOptions('history', argv);
  const { terminal, env } = context;
  const words = context.words(values.lang);
  if (values.help) return terminal.write(helpText('history', words)).then(() => 0);
  const { status, risk } = values;
  if (status !== undefined && !executionStatuses.includes(status as ExecutionStatus)) {
    throw usage(words.notOneOf(status, executionStatuses.join(', ')));
  }
  if (risk !== undefined && !riskLevels.includes(risk as RiskLevel)) {
    throw usage(words.notOneOf(risk, riskLevels.join(', ')));
  }
  const { client } = serverAccess(values.server, words, env);
  const query: NonNullable<CallInput<'history'>['query']> = {
    limit: numberOption('limit', values.limit, { min: 1, max: 200 }, words, usage),
    ...(values.tool !== undefined && { tool_name: values.tool }),
    ...(status !== undefined && { status: status as ExecutionStatus }),
    ...(risk !== undefined && { risk_level: risk as RiskLevel }),
    ...(values.project !== undefined && { project_id: values.project }),
    ...(values.session !== undefined && { session_id: values.session }),
    ...(values.run !== undefined && { run_id: values.run }),
    ...(values.since !== undefined && { since: readTime(values.since, words) }),
    ...(values.until !== undefined && { until: readTime(values.until, words) }),
    ...(values.cursor !== undefined && { cursor: values.cursor }),
  };
  const { executions, next_cursor } = await client.history({ query }, { retry: { times: 2 } });
  if (values.json) {
    for (const execution of executions) await terminal.write(`${JSON.stringify(execution)}\n`);
    if (next_cursor !== null) await terminal.write(`${JSON.stringify({ next_cursor })}\n`);
    return 0;
  }
  const columns = terminal.screen?.columns ?? 120;
  const lines = executions.flatMap((execution) => historyLines(execution, columns, terminal.color, words));
  if (next_cursor !== null) lines.push(paints(terminal.color).dim(words.history.more(visible(next_cursor))));
  await terminal.write(`${lines.length === 0 ? words.history.none : lines.join('\n')}\n`);
  return 0;
}

/** `✓ 11-15 08:12  HIGH    Deleted old.txt          8f3a…  can be undone`. In a narrow terminal, id and facts go below. */
function historyLines(execution: Execution, columns: number, color: boolean, words: Words): string[] {
  const paint = paints(color);
  const { created_at, risk_level, tool_id, status, error, exit_code, undoable, undone_at } = execution;
  const at = new Date(created_at);
  const two = (n: number) => String(n).padStart(2, '0');
  const when = `${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
  const risk = (risk_level === null ? '' : words.risk[risk_level]).padEnd(8);
  const facts = [
    ...(exit_code ? [words.activity.exit(exit_code)] : []),
    ...(error === null ? [] : [visible(error.code)]),
    ...(undone_at !== null ? [words.history.undone] : undoable ? [words.history.undoable] : []),
  ].join(' · ');
  const mark = statusMark(status, color, exit_code);
  const before = `${mark} ${paint.dim(when)}  ${risk}`;
  const { tool_name: toolName, tool_params: params } = execution;
  const call = callTitle({ toolName, params, status }, words.calls);
  const id = visible(tool_id);
  const room = columns - widthOf(before) - widthOf(id) - factColumns - 5;
  if (room >= minCallColumns) {
    const shown = fit(call, room);
    const padding = ' '.repeat(room - widthOf(shown));
    return [`${before}${shown}${padding}  ${paint.dim(id)}  ${paint.dim(facts)}`.trimEnd()];
  }
  const below =
    facts !== '' && widthOf(id) + widthOf(facts) + 4 > columns ? [id, facts] : [`${id}  ${facts}`];
  return [
    `${before}${fit(call, Math.max(columns - widthOf(before), 1))}`,
    ...below.map((line) => `  ${paint.dim(line.trimEnd())}`),
  ];
}

/** With less room for the call, id and facts go below it. */
const minCallColumns = 20;
/** Room for an error code, or whether the call can be undone. */
const factColumns = 20;

/** Parses a date, a time, or an age such as `2h`. Returns an ISO time. */
export function readTime(text: string, words: Words): string {
  const ago = /^(\d{1,6})([mhd])$/.exec(text);
  if (ago) {
    const ms = { m: 60_000, h: 3_600_000, d: 86_400_000 }[ago[2] as 'm'] * Number(ago[1]);
    return new Date(Date.now() - ms).toISOString();
  }
  const at = /^\d{4}-\d{2}-\d{2}/.test(text) ? new Date(text) : new Date(Number.NaN);
  if (Number.isNaN(at.getTime())) throw usage(words.history.badSince(text));
  return at.toISOString();
}
