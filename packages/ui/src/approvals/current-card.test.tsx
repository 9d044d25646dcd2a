// @vitest-environment happy-dom
import { cleanup, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { act, useState } from 'react';
import { afterEach, expect, it } from 'vitest';
import { Menu } from '../frame/menu.tsx';
import { Shortcuts } from '../frame/shortcuts.tsx';
import { anApproval, event, openPage, requestEvent, settle } from '../page-fixture.test-data.tsx';
import { Inbox } from './inbox.tsx';

afterEach(cleanup);

const preview = { kind: 'summary', summary: 'Runs the tests.' } as const;
const digest = `sha256:${'a'.repeat(64)}` as const;

/** The inbox with cards that have been in sight for nine seconds. */
async function openCards(ids: readonly string[], beside: React.ReactNode = null) {
  const page = await openPage(
    <>
      <Shortcuts isHelpOpen={false} onHelp={() => {}} />
      {beside}
      <Inbox />
    </>,
  );
  for (const approval_id of ids)
    await page.server.emit(requestEvent(anApproval({ approval_id, preview, digest })));
  const current = () => document.querySelector('[data-current]')?.getAttribute('data-approval');
  await expect.poll(current).toBe(ids[0]);
  await page.clock.advance(9_000);
  const approved = () => page.server.bodiesOf('approve').length;
  return { ...page, current, approved };
}

it.each(['without a focus', 'with the focus on it'])(
  '[UI-6] a second y, typed at once, does not decide the next card: the first one %s',
  async (where) => {
    const { approved, clock } = await openCards(['one', 'two']);
    if (where === 'with the focus on it') screen.getAllByRole('article')[0]?.focus();
    await userEvent.keyboard('y');
    await settle();
    await clock.advance(200);
    await userEvent.keyboard('y');
    await settle();
    expect(approved()).toBe(1);
    expect(document.body.textContent).toContain('Too quick');
    await clock.advance(300);
    await userEvent.keyboard('y');
    await settle();
    expect(approved()).toBe(2);
  },
);

it('[UI-6] a key that was meant for a card which is decided elsewhere does not decide the next one', async () => {
  const { approved, clock, current, server } = await openCards(['one', 'two']);
  const base = { approved_by: 'user', grant_id: null, reason: null, message: null, device: 'phone' } as const;
  await server.emit(event('approval.resolved', { approval_id: 'one', ...base, status: 'rejected' }));
  await userEvent.keyboard('y');
  await settle();
  expect([approved(), current()]).toEqual([0, 'two']);
  await clock.advance(500);
  await userEvent.keyboard('y');
  await settle();
  expect(approved()).toBe(1);
});

it('a person who moves to another card decides it without waiting', async () => {
  const { server } = await openCards(['one', 'two']);
  await userEvent.keyboard('jj');
  await userEvent.keyboard('y');
  await settle();
  expect(server.bodiesOf('approve')).toHaveLength(1);
  expect(screen.getByRole('article').getAttribute('data-approval')).toBe('one');
});

it('[UI-6] no key decides a card below a dialog or an open menu', async () => {
  const { approved } = await openCards(
    ['one'],
    <Menu label="More" items={[{ name: 'Yes', act: () => {} }]} />,
  );
  await userEvent.click(screen.getByRole('button', { name: 'More' }));
  await userEvent.keyboard('y');
  await settle();
  expect(approved()).toBe(0);
  await userEvent.keyboard('{Escape}');
  const dialog = document.createElement('dialog');
  dialog.setAttribute('open', '');
  document.body.append(dialog);
  (document.activeElement as HTMLElement).blur();
  await userEvent.keyboard('y');
  await settle();
  expect(approved()).toBe(0);
  dialog.remove();
});

let draw = () => {};

/** The inbox, once `draw` is called. */
function Late() {
  const [isDrawn, setDrawn] = useState(false);
  draw = () => setDrawn(true);
  return isDrawn ? <Inbox /> : null;
}

it('[UI-6] marks a card that is drawn long after its approval is known', async () => {
  const { server } = await openPage(
    <>
      <Shortcuts isHelpOpen={false} onHelp={() => {}} />
      <Late />
    </>,
  );
  await server.emit(requestEvent(anApproval({ approval_id: 'one', preview, digest })));
  await new Promise((resolve) => setTimeout(resolve, 50)); // until the frame after the event was drawn
  act(() => draw());
  await expect
    .poll(() => document.querySelector('[data-current]')?.getAttribute('data-approval'))
    .toBe('one');
});
