// @vitest-environment happy-dom
import { cleanup, fireEvent, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, describe, expect, it } from 'vitest';
import { Shortcuts } from '../frame/shortcuts.tsx';
import { anApproval, event, openPage, Refused, requestEvent, settle } from '../page-fixture.test-data.tsx';
import { Inbox } from './inbox.tsx';

afterEach(cleanup);

const requests = ['one', 'two', 'three'].map((id, index) =>
  requestEvent(
    anApproval({
      approval_id: id,
      tool_id: `tool-${id}`,
      description: `Call ${id}`,
      created_at: `2026-02-21T06:19:0${index}Z`,
    }),
  ),
);
const resolved = (approval_id: string) =>
  event('approval.resolved', {
    approval_id,
    status: 'rejected',
    device: 'phone',
    reason: null,
    message: null,
  });

describe('the inbox', () => {
  it('says when nothing waits', async () => {
    await openPage(<Inbox />);
    expect(document.body.textContent).toContain('Nothing waits for you');
  });

  it('does not say that nothing waits when it cannot know', async () => {
    const { server, clock } = await openPage(<Inbox />);
    await server.loseConnection();
    await clock.advance(100);
    expect(document.body.textContent).not.toContain('Nothing waits for you');
    expect(document.body.textContent).toMatch(/What waits is not known|Loading/);
  });

  it('shows all that wait, oldest first; what is decided stays until it is cleared', async () => {
    const { server } = await openPage(<Inbox />);
    await server.emit(...[...requests].reverse());
    const titles = () =>
      [...document.querySelectorAll('.card-title, .call-title')].map(({ textContent }) => textContent);
    expect(titles()).toEqual(['Call one', 'Call two', 'Call three']);
    await server.emit(resolved('two'));
    expect(titles()).toEqual(['Call one', 'Run npm test', 'Call three']);
    expect(document.body.textContent).toContain('2 approvals wait');
    await userEvent.click(screen.getByRole('button', { name: 'Clear what is decided' }));
    expect(titles()).toEqual(['Call one', 'Call three']);
  });

  it('does not begin with what was decided before', async () => {
    const page = await openPage(<p>elsewhere</p>);
    await page.server.emit(...requests, resolved('one'));
    page.unmount();
    const again = await openPage(<Inbox />);
    await again.server.emit(...requests);
    expect(screen.getAllByRole('article')).toHaveLength(3);
  });

  it('puts the focus on the card that was asked for, once it is there, and not again', async () => {
    const { server } = await openPage(<Inbox approvalId="two" />);
    await server.emit(...requests);
    expect(document.activeElement?.getAttribute('data-approval')).toBe('two');
    screen.getAllByRole('article')[0]?.focus();
    await server.emit(resolved('three'));
    expect(document.activeElement?.getAttribute('data-approval')).toBe('one');
  });

  it('j and k move the focus between cards that wait', async () => {
    const { server } = await openPage(
      <>
        <Shortcuts isHelpOpen={false} onHelp={() => {}} />
        <Inbox />
      </>,
    );
    await server.emit(...requests, resolved('two'));
    const focused = () => (document.activeElement as HTMLElement).dataset.approval;
    await userEvent.keyboard('j');
    expect(focused()).toBe('one');
    await userEvent.keyboard('j');
    expect(focused()).toBe('three');
    await userEvent.keyboard('j');
    expect(focused()).toBe('three');
    await userEvent.keyboard('k');
    expect(focused()).toBe('one');
  });

  it('[UI-6] keys decide the first card that waits, without a focus; the next one is current then', async () => {
    const { server, clock } = await openPage(
      <>
        <Shortcuts isHelpOpen={false} onHelp={() => {}} />
        <Inbox />
      </>,
    );
    const preview = { kind: 'summary', summary: 'Runs the tests.' } as const;
    const digest = `sha256:${'a'.repeat(64)}` as const;
    for (const approval_id of ['one', 'two', 'three'])
      await server.emit(requestEvent(anApproval({ approval_id, preview, digest })));
    const current = () => document.querySelector('[data-current]')?.getAttribute('data-approval');
    await expect.poll(current).toBe('one');
    await userEvent.keyboard('y');
    expect(server.bodiesOf('approve')).toEqual([]); // too quick
    await clock.advance(500);
    await userEvent.keyboard('y');
    await settle();
    expect(server.bodiesOf('approve')).toHaveLength(1);
    await expect.poll(current).toBe('two');
    screen.getAllByRole('article')[1]?.focus();
    await expect.poll(current).toBe('three');
    await clock.advance(500);
    await userEvent.keyboard('n');
    expect(screen.getAllByRole('article')[1]?.querySelector('form')).not.toBeNull();
    await userEvent.keyboard('y'); // typed into the field
    expect(server.bodiesOf('approve')).toHaveLength(1);
  });

  it.each([
    ['j', 'KeyC'], // Dvorak
    ['о', 'KeyJ'], // a Russian keyboard
  ])('the key %s at %s moves to the next card', async (key, code) => {
    const { server } = await openPage(
      <>
        <Shortcuts isHelpOpen={false} onHelp={() => {}} />
        <Inbox />
      </>,
    );
    await server.emit(...requests);
    fireEvent.keyDown(document.body, { key: 'h', code: 'KeyJ' }); // Dvorak's h
    expect(document.activeElement).toBe(document.body);
    fireEvent.keyDown(document.body, { key, code });
    expect(document.activeElement?.getAttribute('data-approval')).toBe('one');
  });
});

describe('[EV-2] after a reset', () => {
  it('shows what waits now, and settles what is gone', async () => {
    const { server } = await openPage(<Inbox />);
    await server.emit(...requests);
    server.on('listApprovals', {
      success: true,
      approvals: [anApproval({ approval_id: 'four', description: 'Call four' })],
    });
    server.on('getApproval', ({ url }) => {
      if (url.endsWith('/one')) throw new Refused(404, 'NOT_FOUND');
      return {
        success: true,
        approval: anApproval({ approval_id: url.split('/').at(-1) as string, status: 'timeout' }),
      };
    });
    await server.emit(event('stream.reset'));
    await settle();
    const text = document.body.textContent ?? '';
    expect(text).toContain('Call four');
    expect(text).toContain('1 approval waits');
    expect(text).toContain('Withdrawn');
    expect(text).toContain('Expired');
  });
});
