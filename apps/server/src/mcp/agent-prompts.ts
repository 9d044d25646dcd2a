import type { GetPromptResult, Prompt } from '@modelcontextprotocol/server';
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';

interface AgentPrompt extends Prompt {
  readonly text: (given: Readonly<Record<string, string>>) => string;
}

/** Prompts that a person starts in their agent's own program. */
const prompts: readonly AgentPrompt[] = [
  {
    name: 'plan_first',
    title: 'Plan first, then change',
    description: 'Read what is needed, show a plan, then make the changes in as few calls as possible.',
    arguments: [{ name: 'task', description: 'What the agent should do', required: true }],
    text: ({ task = '' }) =>
      `${task}

First read what you need: reading runs without asking. Then show me a short plan with the files that you will change and the commands that you will run. Make the changes after that, one file in one call, so that I have few and clear questions to answer. If I reject a call, follow what I say and do not repeat it.`,
  },
  {
    name: 'review_changes',
    title: 'Review my changes',
    description: 'Look at what changed since the last commit and say what is wrong with it. Changes nothing.',
    text: () =>
      'Use git_status and git_diff to see what changed since the last commit, and read the files around it where needed. Tell me about mistakes, missing tests and leftovers, with file and line. Change nothing.',
  },
];

export const listedPrompts = (): Prompt[] => prompts.map(({ text: _, ...prompt }) => prompt);

export function promptNamed(name: string, given: Readonly<Record<string, string>> = {}): GetPromptResult {
  const prompt = prompts.find((known) => known.name === name);
  if (!prompt) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no prompt "${name}".`);
  const missing = prompt.arguments?.find((argument) => argument.required && !given[argument.name]);
  if (missing)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `The argument "${missing.name}" is missing.`);
  return {
    ...(prompt.description !== undefined && { description: prompt.description }),
    messages: [{ role: 'user', content: { type: 'text', text: prompt.text(given) } }],
  };
}
