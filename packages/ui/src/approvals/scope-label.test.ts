import { expect, it } from 'vitest';
import { languages } from '../words/words.ts';
import { scopeLabel } from './scope-label.ts';

it.each([
  ['class', 'drafts/b.md', 'write_file', 'Changes to drafts/b.md in this conversation'],
  ['always', 'drafts/b.md', 'write_file', 'Always: changes to drafts/b.md'],
  ['class', 'drafts/**', 'edit_file', 'Changes under drafts/ in this conversation'],
  ['class', 'git commit *', 'execute_command', 'All git commit commands in this conversation'],
  ['always', 'npm test', 'execute_command', 'Always: the command npm test'],
  ['class', null, 'git_push', 'All calls of git_push in this conversation'],
  ['session', null, 'write_file', 'Whole conversation: every tool'],
] as const)('[AP-4] %s %s of %s is said once', (scope, pattern, tool, label) => {
  expect(scopeLabel({ scope, pattern }, tool, languages.en)).toBe(label);
});

it('[UI-1] in Russian too', () => {
  const label = (scope: 'class' | 'always', pattern: string) =>
    scopeLabel({ scope, pattern }, 'write_file', languages.ru);
  expect(label('class', 'drafts/**')).toBe('Изменения внутри drafts/ в этой беседе');
  expect(label('always', 'a.md')).toBe('Всегда: изменения a.md');
});
