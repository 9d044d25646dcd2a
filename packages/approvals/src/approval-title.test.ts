import type { Preview } from '@countersign/protocol';
import { approvalWords } from '@countersign/words';
import { describe, expect, it } from 'vitest';
import { titleOf } from './request-sentences.ts';

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
