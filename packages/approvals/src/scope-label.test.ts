import { changingToolsPattern, gitCommandsPattern } from '@countersign/protocol';
import { approvalWords } from '@countersign/words';
import { expect, it } from 'vitest';
import { scopeLabel } from './request-sentences.ts';

it.each([
  [
    'class',
    { tool: changingToolsPattern, path: 'drafts/b.md' },
    'Changes to drafts/b.md in this conversation',
  ],
  ['always', { tool: changingToolsPattern, path: 'drafts/b.md' }, 'Always: changes to drafts/b.md'],
  ['class', { tool: changingToolsPattern, path: 'drafts/**' }, 'Changes under drafts/ in this conversation'],
  ['class', { tool: 'delete_file', path: 'drafts/**' }, 'Deleting files under drafts/ in this conversation'],
  ['class', { tool: 'delete_file', path: 'a.md' }, 'Deleting a.md in this conversation'],
  [
    'class',
    { tool: 'execute_command', command: 'git commit *' },
    'Harmless git commit commands in this conversation',
  ],
  [
    'class',
    { tool: gitCommandsPattern, command: 'git *' },
    'Harmless git commands, commits and new branches in this conversation',
  ],
  ['always', { tool: 'execute_command', command: 'npm test' }, 'Always: the command npm test'],
  ['class', { tool: 'git_push' }, 'All calls of git_push in this conversation'],
  ['session', { tool: '*' }, 'Whole conversation: every tool'],
] as const)('[AP-4] %s of %j is said once', (scope, rule, label) => {
  expect(scopeLabel({ scope, rule }, approvalWords.en)).toBe(label);
});

it('[UI-1] in Russian too', () => {
  const label = (scope: 'class' | 'always', path: string) =>
    scopeLabel({ scope, rule: { tool: changingToolsPattern, path } }, approvalWords.ru);
  expect(label('class', 'drafts/**')).toBe('Изменения внутри drafts/ в этой беседе');
  expect(label('always', 'a.md')).toBe('Всегда: изменения a.md');
  const git = { tool: gitCommandsPattern, command: 'git *' };
  expect(scopeLabel({ scope: 'class', rule: git }, approvalWords.ru)).toBe(
    'Безобидные команды git, коммиты и новые ветки в этой беседе',
  );
});
