import type { PlanEntry } from '@agentclientprotocol/sdk';
import { marked, type Token, type Tokens } from 'marked';
import { visible } from '../screen/paragraph.ts';

/** A longer text is not searched for a plan. */
const maxText = 50_000;

/**
 * The plan that an agent wrote as a task list (`- [x] done`), as an editor shows plans: the first open task is the one in
 * progress. Undefined if the text has no list of at least two tasks.
 */
export function agentPlan(text: string): PlanEntry[] | undefined {
  if (text.length > maxText || !/^\s*[-*+\d.]+\s+\[[ xX]\]/m.test(text)) return undefined;
  const tasks = marked
    .lexer(text)
    .filter((token): token is Token & Tokens.List => token.type === 'list')
    .flatMap(({ items }) => items)
    .filter(({ task }) => task);
  if (tasks.length < 2) return undefined;
  const next = tasks.findIndex(({ checked }) => !checked);
  return tasks.map((item, i) => ({
    content: visible(firstLine(item.text)),
    priority: 'medium',
    status: item.checked ? 'completed' : i === next ? 'in_progress' : 'pending',
  }));
}

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? '';
