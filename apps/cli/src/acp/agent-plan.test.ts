import { expect, it } from 'vitest';
import { agentPlan } from './agent-plan.ts';

it('reads a task list as a plan, whose first open task is in progress', () => {
  expect(agentPlan('My plan:\n\n- [x] read\n- [ ] write\u001b[2J\n  - more\n- [ ] test\n\nGo.')).toEqual([
    { content: 'read', priority: 'medium', status: 'completed' },
    { content: 'write⟨U+001B⟩[2J', priority: 'medium', status: 'in_progress' },
    { content: 'test', priority: 'medium', status: 'pending' },
  ]);
  expect(agentPlan('1. [X] a\n2. [x] b')?.map(({ status }) => status)).toEqual(['completed', 'completed']);
});

it.each(['', 'no list', '- a\n- b', '- [ ] only one', '```\n- [ ] a\n- [ ] b\n```', 'x'.repeat(60_000)])(
  'finds no plan in %j',
  (text) => {
    expect(agentPlan(text)).toBe(undefined);
  },
);
