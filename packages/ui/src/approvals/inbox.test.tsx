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
    const titles = () => screen.getAllByRole('heading', { level: 2 }).map(({ textContent }) => textContent);
    expect(titles()).toEqual(['Call one', 'Call two', 'Call three']);
    await server.emit(resolved('two'));
    expect(titles()).toEqual(['Call one', 'Call two', 'Call three']);
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

  it('[UI-6] a key that no card gets decides nothing, and the first card says where keys go', async () => {
    const { server, clock } = await openPage(
      <>
        <Shortcuts isHelpOpen={false} onHelp={() => {}} />
        <Inbox />
      </>,
    );
    await server.emit(...requests);
    const hints = () => [...document.querySelectorAll('.card-hint')].map(({ textContent }) => textContent);
    await clock.advance(1000);
    await userEvent.keyboard('y');
    await userEvent.keyboard('y');
    expect(hints()).toEqual([expect.stringContaining('press j'), '', '']);
    expect(document.activeElement).toBe(document.body);
    await userEvent.keyboard('j');
    expect(hints()).toEqual(['', '', '']);
    expect(server.bodiesOf('approve')).toEqual([]);
    await clock.advance(1000);
    await userEvent.keyboard('n');
    expect(hints()).toEqual(['', '', '']);
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
