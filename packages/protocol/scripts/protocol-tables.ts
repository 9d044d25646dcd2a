/** Makes the tables of docs/protocol.md from the schemas. */
import type { z } from 'zod';
import { approvalSchema } from '../src/approval.ts';
import {
  callContextSchema,
  digestSchema,
  idSchema,
  timestampSchema,
  toolParamsSchema,
} from '../src/common.ts';
import { errorCodes } from '../src/error-codes.ts';
import { errorCodeSchema, toolErrorSchema } from '../src/errors.ts';
import { type EventName, eventSchemas } from '../src/events.ts';
import { executionStatuses, legalTransitions } from '../src/execution-status.ts';
import { grantPredicateSchema, grantSchema, offeredScopeSchema } from '../src/grant.ts';
import { jsonValueSchema } from '../src/json-value.ts';
import { defaultLimits } from '../src/limits.ts';
import { messageSchema, queuedMessageSchema } from '../src/messages.ts';
import { policyFileSchema, policyRuleSchema } from '../src/policy-file.ts';
import { fileDiffSchema, previewSchema } from '../src/preview.ts';
import { commandOutputSchema } from '../src/progress.ts';
import { projectSchema, runnerSchema, runSchema } from '../src/rest/conversation.ts';
import { errorBodySchema } from '../src/rest/error-body.ts';
import { executionSchema, toolMetricsSchema } from '../src/rest/executions.ts';
import { tokenSchema } from '../src/rest/permissions.ts';
import { type Route, routes } from '../src/rest/routes.ts';
import { approvalTimeoutSeconds, reasonSchema, riskLevels } from '../src/risk.ts';
import { sessionSchema } from '../src/session.ts';
import { timing } from '../src/timing.ts';
import { availableToolSchema } from '../src/tools/available-tool.ts';
import { catalogue, customToolSchema } from '../src/tools/catalogue.ts';
import type { ToolDefinition } from '../src/tools/definition.ts';
import { TypeWords } from './type-words.ts';

/** When each event is sent. */
const eventMeanings: Readonly<Record<EventName, string>> = {
  'tool.approval_request':
    'A call waits for a decision. Draw a card; if you are its runner, compute the preview.',
  'tool.execution_signal': 'The runner executes this call now: claim it first unless it is read-only.',
  'tool.result_ack': 'The server has a result, or will not have it. The runner stops sending it again.',
  'tool.call':
    'The agent made a call: it was recorded as `pending`, with its parameters. Then each state that it comes to before it ends: `awaiting_approval`, `approved` where it waits for a runner, `executing`.',
  'tool.progress': 'How far a running call is, and what it prints.',
  'tool.result': 'A call has ended.',
  'tool.cancel': 'The runner should stop this call.',
  'tool.undo': 'The runner should restore what these calls changed.',
  'tool.try': 'The runner should try this call in a layer, before anybody decides.',
  'file.changed': 'A call changed a file; editors reload it.',
  'agent.state': 'What the agent is doing.',
  'message.created': 'A message was added to a conversation.',
  'message.delta': 'A piece of a message that is being written. It has no event id.',
  'queue.changed': 'A message was queued, changed, removed or taken.',
  'session.changed': 'A conversation was renamed or deleted, or its mode switched.',
  'session.rewound':
    'A conversation went back to before a message; what follows it is no longer read by the agent.',
  'approval.updated': 'The preview arrived, or the call was edited: redraw the card.',
  'approval.resolved': 'The approval is settled, wherever that happened: withdraw the card.',
  'runner.changed': 'A runner came or went.',
  'stream.reset': 'It is not possible to resume: forget what you know; a snapshot follows.',
};

/** The meaning of each placeholder in the error messages. */
export const placeholderMeanings: Readonly<Record<string, string>> = {
  file: 'the settings of another program, as the person named or we found them',
  source: 'the other program: claude, codex, gemini, opencode or vscode',
  advice: 'what to use instead, as a sentence',
  argument: 'the argument that is refused',
  budget: 'the budget that is used up: steps, tokens or time',
  command: 'the program that was asked for',
  count: 'how many there are',
  decision: 'the decision that stands',
  encoding: 'the encoding that was asked for',
  extension: 'the extension of the file, with its dot',
  from: 'the state that the call is in',
  help: 'the command that shows help',
  id: 'the tool_id of the call',
  job: 'the job_id that was asked for',
  kind: 'what kind of file it is',
  language: 'the language of the file',
  limit: 'the limit, as a number',
  method: 'the HTTP method',
  model: 'the model that was asked for',
  outcome: 'how the program ended: an exit code or a signal',
  owner: "whose policy it is: the person's or the workspace's",
  path: 'the path as it was given, relative to the workspace',
  pattern: 'the pattern as it was given',
  problem: 'what is wrong, as a part of a sentence',
  program: 'the program that was to run',
  request_id: 'what to look for in the log',
  risk: 'the risk of the edited call',
  remedy: 'what to free, as a sentence',
  runner: 'the id of the runner',
  scope: 'the scope that a token needs',
  seconds: 'how long to wait',
  server: 'the name of the tool server',
  setting: 'the setting that is missing',
  size: 'the size that was found, as a number',
  status: 'the final state of the call',
  timeout: 'the time in seconds',
  to: 'the state that was asked for',
  tool: 'the name of the tool',
  known: 'the names there are',
  what: 'what was looked for: approval, call, project …',
  why: 'the reason that the rule gives',
  workspace: 'the folder to open',
};

/** Shapes that are used in several places and have their own table. */
const shapes: readonly (readonly [string, z.ZodObject])[] = [
  ['approval', approvalSchema],
  ['context', callContextSchema],
  ['reason', reasonSchema],
  ['offered scope', offeredScopeSchema],
  ['error', toolErrorSchema],
  ['error body', errorBodySchema],
  ['execution', executionSchema],
  ['message', messageSchema],
  ['queued message', queuedMessageSchema],
  ['grant', grantSchema],
  ['grant predicate', grantPredicateSchema],
  ['file diff', fileDiffSchema],
  ['command output', commandOutputSchema],
  ['available tool', availableToolSchema],
  ['custom tool', customToolSchema],
  ['tool metrics', toolMetricsSchema],
  ['project', projectSchema],
  ['session', sessionSchema],
  ['run', runSchema],
  ['runner', runnerSchema],
  ['token', tokenSchema],
  ['policy', policyFileSchema],
  ['policy rule', policyRuleSchema],
];

const words = new TypeWords([
  [idSchema, 'id'],
  [timestampSchema, 'time'],
  [digestSchema, 'digest'],
  [jsonValueSchema, 'any JSON'],
  [toolParamsSchema, 'object'],
  [errorCodeSchema, 'error code'],
  [previewSchema, 'preview'],
  ...shapes.map(([name, schema]) => [schema, name] as const),
]);

/** Makes each table, by the name in its `<!-- table:name -->` marker. */
export const tables: Readonly<Record<string, () => string>> = {
  events: () =>
    sections(
      Object.entries(eventSchemas).map(([name, schema]) => [
        `\`${name}\``,
        `${eventMeanings[name as EventName]}\n\n${fieldTable(schema)}`,
      ]),
    ),
  shapes: () => sections(shapes.map(([name, schema]) => [name, fieldTable(schema)])),
  previews: () =>
    table(
      ['kind', 'fields'],
      previewSchema.options.map((option) => [
        `\`${option.shape.kind.value}\``,
        words
          .fieldsOf(option)
          .filter(({ name }) => name !== 'kind')
          .map(({ name, optional, type, meaning }) => {
            return `\`${name}${optional ? '?' : ''}\` ${type}${meaning === '' ? '' : `: ${meaning}`}`;
          })
          .join('<br>'),
      ]),
    ),
  routes: () =>
    table(
      ['name', 'route', 'tokens', 'what it does'],
      Object.entries<Route>(routes).map(([name, { method, path, scopes, summary }]) => [
        `\`${name}\``,
        `${method} \`${path}\``,
        scopes === 'public' ? 'none needed' : scopes.join(', '),
        summary,
      ]),
    ),
  bodies: () =>
    table(
      ['name', 'sent', 'answered'],
      Object.entries<Route>(routes).map(([name, { query, body, response }]) => [
        `\`${name}\``,
        [query ? `query ${words.inline(query)}` : '', body ? words.inline(body) : '']
          .filter(Boolean)
          .join(', '),
        response === 'stream' ? 'Server-Sent Events' : words.inline(response),
      ]),
    ),
  tools: () =>
    table(
      ['tool', 'category', 'parameters', 'asked', 'base risk', 'read-only'],
      catalogue.map((tool: ToolDefinition) => [
        `\`${tool.name}\``,
        tool.category,
        fieldList(tool.parameters),
        tool.baseRisk === 'LOW' ? 'never' : tool.mayRunUnasked ? 'depends on the call' : 'always',
        tool.baseRisk,
        tool.changes === 'nothing' ? 'yes' : 'no',
      ]),
    ),
  results: () =>
    table(
      ['tool', 'result of a success'],
      catalogue.map((tool: ToolDefinition) => [`\`${tool.name}\``, fieldList(tool.result)]),
    ),
  transitions: () =>
    table(
      ['state', 'may become'],
      executionStatuses.map((status) => [
        `\`${status}\``,
        legalTransitions[status].map((to) => `\`${to}\``).join(', ') || 'final',
      ]),
    ),
  risks: () =>
    table(
      ['risk', 'seconds to decide'],
      riskLevels.map((level) => [
        level,
        level === 'LOW' ? 'not asked' : String(approvalTimeoutSeconds[level]),
      ]),
    ),
  limits: () =>
    table(
      ['limit', 'value'],
      Object.entries({ ...defaultLimits, ...timing }).map(([name, value]) => [
        spaced(name),
        value.toLocaleString('en-US'),
      ]),
    ),
  errors: () =>
    table(
      ['code', 'HTTP', 'recoverable', 'who can help', 'message'],
      Object.entries(errorCodes).map(([code, { status, recoverable, remedy, message }]) => [
        `\`${code}\``,
        String(status),
        recoverable ? 'yes' : 'no',
        { repeat: 'repeat it', change: 'change the call', person: 'a person', none: '' }[remedy],
        message,
      ]),
    ),
  placeholders: () =>
    table(
      ['placeholder', 'stands for'],
      Object.entries(placeholderMeanings).map(([name, meaning]) => [`\`{${name}}\``, meaning]),
    ),
};

/** The document with every marked table rewritten. Throws if a marker is unknown or missing. */
export function fillTables(document: string): string {
  const left = new Set(Object.keys(tables));
  const filled = document.replace(/<!-- table:([a-z]+) -->\n[\s\S]*?<!-- \/table -->/g, (_, name: string) => {
    const make = tables[name];
    if (!make)
      throw new Error(
        `docs/protocol.md asks for the table "${name}"; there are: ${Object.keys(tables).join(', ')}.`,
      );
    left.delete(name);
    return `<!-- table:${name} -->\n${make()}\n<!-- /table -->`;
  });
  if (left.size > 0) throw new Error(`docs/protocol.md has no region for the table ${[...left].join(', ')}.`);
  return filled;
}

const fieldList = (schema: z.ZodObject): string =>
  words
    .fieldsOf(schema)
    .map(({ name, optional, type }) => `\`${name}${optional ? '?' : ''}\` ${type}`)
    .join('<br>');

const fieldTable = (schema: z.ZodObject): string =>
  table(
    ['field', 'type', 'meaning'],
    words
      .fieldsOf(schema)
      .map(({ name, optional, type, meaning }) => [
        `\`${name}\`${optional ? ' (may be missing)' : ''}`,
        type,
        meaning,
      ]),
  );

const sections = (entries: readonly (readonly [string, string])[]): string =>
  entries.map(([title, text]) => `#### ${title}\n\n${text}`).join('\n\n');

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replace(/\n/g, ' ')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** `commandTimeoutMaxSeconds` as `command timeout max seconds`. */
const spaced = (name: string): string => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
