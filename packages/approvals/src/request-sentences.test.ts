import { changingToolsPattern, gitCommandsPattern, type Preview } from '@countersign/protocol';
import { approvalWords } from '@countersign/words';
import { describe, expect, it } from 'vitest';
import { scopeLabel, titleOf } from './request-sentences.ts';

const asked = { agent: 'Agent', description: 'Agent wants something', preview: null };
const previewOf = (operation: 'created' | 'modified'): Preview => ({
  kind: 'diff',
  files: [{ path: 'a.md', operation, diff: '', truncated: false, size_before: null, size_after: 1 }],
});

describe('the title of a card', () => {
  it.each([
    ['write_file', { path: 'a.md', mode: 'write' }, 'Агент хочет изменить a.md'],
    ['write_file', { path: 'a.md', mode: 'append' }, 'Агент хочет дописать в a.md'],
    ['execute_command', { command: 'git', args: ['log', 'a b'] }, 'Агент хочет выполнить git log "a b"'],
    [
      'shell_exec',
      { command: `echo\n${'x'.repeat(300)}` },
      `Агент хочет выполнить в оболочке echo ${'x'.repeat(154)}…`,
    ],
    ['git_push', { remote: 'theirs', branch: 'main' }, 'Агент хочет отправить изменения: theirs main'],
    ['constructor', { path: 'a.md' }, 'Agent wants something'],
    ['write_file', {}, 'Agent wants something'], // did not fit into the event, and is being fetched
  ])('%s %j', (tool_name, tool_params, title) => {
    expect(titleOf({ ...asked, tool_name, tool_params }, approvalWords.ru)).toBe(title);
    expect(titleOf({ ...asked, tool_name, tool_params }, approvalWords.en)).toBe('Agent wants something');
  });

  it('[AP-1] says that a file is new once a preview knows it (founding documents: tools-specification)', () => {
    const titled = (preview: Preview, mode = 'write') =>
      titleOf(
        { ...asked, tool_name: 'write_file', tool_params: { path: 'a.md', mode }, preview },
        approvalWords.ru,
      );
    expect(titled(previewOf('modified'))).toBe('Агент хочет изменить a.md');
    expect(titled(previewOf('created'))).toBe('Агент хочет создать a.md');
    expect(titled(previewOf('created'), 'append')).toBe('Агент хочет создать a.md');
  });

  it('keeps the name of an agent that has one', () => {
    const claude = { ...asked, agent: 'Claude', tool_name: 'edit_file', tool_params: { path: 'a.md' } };
    expect(titleOf(claude, approvalWords.ru)).toBe('Claude хочет изменить a.md');
    expect(titleOf({ ...claude, agent: 'Person' }, approvalWords.ru)).toBe('Человек хочет изменить a.md');
  });
});

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
