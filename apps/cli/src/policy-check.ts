import { readFileSync } from 'node:fs';
import { isRefused, type PolicyDecision, type ToolCallPolicy } from '@countersign/policy';
import { CountersignError, describeError, makeVisible, messageOf } from '@countersign/protocol';
import type { Terminal } from './terminal.ts';
import type { Words } from './words.ts';

/** One line of the output (RK-4). */
export interface CheckLine {
  readonly id: unknown;
  readonly decision: 'LOW' | 'MEDIUM' | 'HIGH' | 'REJECT';
  readonly code?: string;
  readonly reasons: readonly { readonly rule: string; readonly why: string }[];
}

const MAX_LINE_CHARACTERS = 128 * 1024 * 1024;
const OUTPUT_CHUNK_CHARACTERS = 64 * 1024;

/**
 * Reads calls as JSON Lines and prints a decision for each, in order. A line that is not a call gets REJECT, is named
 * on standard error, and makes the exit status 2; the rest is still decided.
 */
export async function checkCalls(policy: ToolCallPolicy, terminal: Terminal, words: Words): Promise<number> {
  let number = 0;
  let wrong = 0;
  let output = '';
  for await (const line of linesOf(terminal.stdin)) {
    number++;
    if (line.trim() === '') continue;
    const call = readCall(line);
    if ('problem' in call) {
      wrong++;
      const { code, message } = describeError('INVALID_JSON', { problem: call.problem });
      terminal.writeError(
        `${words.policy.line(number)}: ${makeVisible(words.said({ code, message }))} [${code}]\n`,
      );
      output += `${JSON.stringify({ id: null, decision: 'REJECT', code, reasons: [{ rule: 'PARAM-1', why: message }] })}\n`;
    } else {
      output += `${JSON.stringify(toCheckLine(call.id, policy.decide(call.tool, call.args)))}\n`;
    }
    if (output.length > OUTPUT_CHUNK_CHARACTERS) {
      await terminal.write(output);
      output = '';
    }
  }
  if (output !== '') await terminal.write(output);
  return wrong === 0 ? 0 : 2;
}

export function toCheckLine(id: unknown, { verdict }: PolicyDecision): CheckLine {
  const reasons = verdict.reasons.map(({ rule, why, operand }) => ({
    rule,
    why,
    ...(operand !== undefined && { operand }),
  }));
  if (isRefused(verdict)) return { id, decision: 'REJECT', code: verdict.code, reasons };
  return { id, decision: verdict.decision, reasons };
}

type Call =
  | { readonly id: unknown; readonly tool: unknown; readonly args: unknown }
  | { readonly problem: string };

function readCall(line: string): Call {
  if (line.length > MAX_LINE_CHARACTERS) return { problem: 'the line is too long' };
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    return { problem: messageOf(error) };
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    return { problem: 'it is not an object' };
  const { id = null, tool, args } = value as Record<string, unknown>;
  if (id !== null && typeof id !== 'string' && typeof id !== 'number')
    return { problem: 'its id is no text or number' };
  if (typeof tool !== 'string') return { problem: 'it names no tool' };
  return { id, tool, args };
}

export function readPolicyText(path: string, words: Words): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new CountersignError('POLICY_INVALID', { problem: words.policy.unreadable(path) }, { cause });
  }
}

/** The lines of a UTF-8 stream. The last one may lack its line end. */
export async function* linesOf(input: AsyncIterable<Uint8Array | string>): AsyncIterable<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of input) {
    rest += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    let start = 0;
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n', start)) {
      yield rest.slice(start, end);
      start = end + 1;
    }
    rest = rest.slice(start);
  }
  rest += decoder.decode();
  if (rest !== '') yield rest;
}
