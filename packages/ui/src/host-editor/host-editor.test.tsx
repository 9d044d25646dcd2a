// @vitest-environment happy-dom
import { cleanup, render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, describe, expect, it } from 'vitest';
import { anApproval } from '../page-fixture.test-data.tsx';
import { AnswerCode } from './answer-code.tsx';
import { ComposerInserts, withInsert } from './composer-inserts.ts';
import { type HostEditor, HostEditorProvider } from './host-editor.ts';
import { OpenDiffButton } from './open-diff-button.tsx';
import { mentionAt } from './use-mentions.ts';

afterEach(cleanup);

function editor() {
  const asked: string[] = [];
  const host: HostEditor = {
    openDiff: (approvalId) => asked.push(`diff ${approvalId}`),
    insertCode: (text) => asked.push(`insert ${text}`),
    findMentions: async () => [],
    inserts: new ComposerInserts(),
  };
  return { host, asked };
}

describe('[UI-2] an editor around the page', () => {
  it('shows a file change in its own diff; a browser has no button for that', async () => {
    const { host, asked } = editor();
    const diff = anApproval({
      approval_id: 'a1',
      preview: { kind: 'diff', files: [], unsaved: false } as never,
    });
    const command = anApproval({ preview: { kind: 'summary', summary: 'x' } as never });
    const { rerender } = render(<OpenDiffButton approval={diff} />);
    expect(screen.queryByRole('button')).toBeNull();
    rerender(
      <HostEditorProvider value={host}>
        <OpenDiffButton approval={diff} />
        <OpenDiffButton approval={command} />
      </HostEditorProvider>,
    );
    await userEvent.click(screen.getByRole('button', { name: 'Open diff' }));
    expect(asked).toEqual(['diff a1']);
  });

  it('gets the code of an answer at its cursor; a browser copies it', async () => {
    const { host, asked } = editor();
    const code = <AnswerCode>{'let a = 1;\nlet b = 2;\n'}</AnswerCode>;
    const user = userEvent.setup(); // also sets up a clipboard
    const { rerender } = render(code);
    expect(screen.getAllByRole('button').map(({ textContent }) => textContent)).toEqual(['Copy']);
    await user.click(screen.getByRole('button', { name: 'Copy' }));
    expect(await navigator.clipboard.readText()).toBe('let a = 1;\nlet b = 2;\n');
    await screen.findByRole('button', { name: 'Copied' });
    rerender(<HostEditorProvider value={host}>{code}</HostEditorProvider>);
    await user.click(screen.getByRole('button', { name: 'Insert' }));
    expect(asked).toEqual(['insert let a = 1;\nlet b = 2;']);
  });

  it.each([
    ['', '@a.ts ', '@a.ts '],
    ['  ', '@a.ts ', '@a.ts '],
    ['why', '@a.ts ', 'why @a.ts '],
    ['why\n', '@a.ts ', 'why\n@a.ts '],
    ['why', 'Fix:\n- x', 'why\nFix:\n- x'],
  ])('appends to the draft %j', (draft, insert, text) => {
    expect(withInsert(draft, insert)).toBe(text);
  });

  it.each([
    ['see @ma', 7, { from: 4, typed: 'ma' }],
    ['@', 1, { from: 0, typed: '' }],
    ['ada@example.test', 16, null],
    ['see @ma in', 10, null],
  ])('%j at %i mentions %j', (text, caret, found) => {
    expect(mentionAt(text, caret)).toEqual(found);
  });
});
