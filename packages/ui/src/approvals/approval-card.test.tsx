// @vitest-environment happy-dom
import type { Approval, Preview } from '@countersign/protocol';
import { cleanup, fireEvent, screen, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  anApproval,
  event,
  examples,
  layout,
  openPage,
  Refused,
  requestEvent,
  sealed,
  settle,
  TestServer,
  updateEvent,
} from '../page-fixture.test-data.tsx';
import { ConnectedCard } from './connected-card.tsx';

afterEach(cleanup);
afterEach(() => void Object.assign(layout, { top: 0, bottom: 100 }));

const digest = `sha256:${'a'.repeat(64)}` as const;
const diffPreview: Preview = {
  kind: 'diff',
  files: [
    {
      path: 'src/app.ts',
      operation: 'modified',
      diff: '@@ -1,1 +1,1 @@\n-one\n+two',
      truncated: false,
      size_before: 3,
      size_after: 3,
    },
  ],
};
const summary: Preview = { kind: 'summary', summary: 'Runs the tests.' };

async function openCard(change: Partial<Approval> = {}, server = new TestServer()) {
  const approval = anApproval({ preview: summary, digest, ...change });
  const shown = <ConnectedCard approvalId={approval.approval_id} chatHref="#/chat/s" />;
  const page = await openPage(shown, { server });
  await page.server.emit(requestEvent(approval));
  const card = () => screen.getByRole('article');
  /** The card, or the line that it has become. */
  const row = () => page.container.querySelector('.call') as HTMLElement;
  /** Keeps the card in sight for long enough. */
  const look = async () => {
    card().focus();
    await page.clock.advance(500);
  };
  const press = async (key: string) => {
    await userEvent.keyboard(key);
    await settle();
  };
  return { ...page, approval, card, row, look, press };
}

const decided = (page: Awaited<ReturnType<typeof openCard>>) => [
  ...page.server.bodiesOf('approve'),
  ...page.server.bodiesOf('reject'),
];

describe('a card', () => {
  it('[AP-1] shows tool, risk with reasons, what will happen, where it came from and the time left', async () => {
    const { card, approval } = await openCard();
    const shown = card().textContent ?? '';
    for (const text of [
      'Medium risk',
      'execute_command',
      'Agent wants to run npm test',
      'Runs scripts of this workspace',
      'Runs the tests.',
      approval.context.excerpt,
      '5:00 left',
    ]) {
      expect(shown).toContain(text);
    }
    expect(screen.getByRole('link', { name: 'Show in the conversation' })).toHaveProperty('hash', '#/chat/s');
  });

  it('[AP-3] counts down by the monotonic clock, and sends nothing when the time is over', async () => {
    const page = await openCard();
    await page.clock.advance(60_500);
    expect(screen.getByRole('timer').textContent).toContain('4:00 left');
    await page.clock.advance(300_000);
    expect(screen.getByRole('timer').textContent).toContain('0:00 left');
    expect(decided(page)).toEqual([]);
  });

  it('[UI-6] a new card never takes the focus', async () => {
    await openCard();
    expect(document.activeElement).toBe(document.body);
  });

  it('[UI-6] shows HTML, ANSI and hidden characters as text', async () => {
    const { card } = await openCard({ description: 'Run <img src=x onerror=alert(1)> \u001b[31mred\u202e' });
    expect(card().querySelector('img')).toBeNull();
    expect(card().textContent).toContain('<img src=x onerror=alert(1)> ⟨U+001B⟩[31mred⟨U+202E⟩');
    expect(card().querySelectorAll('mark')).toHaveLength(2);
  });

  it('[AP-7] shows a shell line as it was written, with what no parsed command tells', async () => {
    const command = `${'echo one two three four five; '.repeat(10)}cat > src/run.js <<'E'\nevil()\u202e\nE\n`;
    const preview: Preview = {
      kind: 'command',
      commands: [['echo', 'one'], ['cat']],
      cwd: '.',
      network: false,
      reversible: false,
      scripts: [],
    };
    const { card } = await openCard({ tool_name: 'shell_exec', tool_params: { command }, preview });
    const line = card().querySelector('.shell-line');
    expect(line?.closest('details')).toBeNull();
    expect(line?.textContent).toBe(command.replace('\u202e', '⟨U+202E⟩'));
  });

  it.each<Preview>([
    { kind: 'custom', server: 'db', summary: 'Reads a table' },
    { kind: 'unavailable', reason: 'the disk fails' },
    { kind: 'summary', summary: 'Creates a branch.' },
  ])('[AP-7] shows all parameters where the preview says little: $kind', async (preview) => {
    const { card } = await openCard({ tool_params: { query: 'drop table users' }, preview });
    expect(card().querySelector('details')?.open).toBe(true);
    expect(card().querySelector('details')?.textContent).toContain('drop table users');
  });

  it('[EV-2] fetches what did not fit into the event', async () => {
    const approval = anApproval({ preview: null, digest: null, omitted: ['preview'] });
    const page = await openPage(<ConnectedCard approvalId={approval.approval_id} />);
    page.server.on('getApproval', { success: true, approval: anApproval({ preview: summary, digest }) });
    await page.server.emit(requestEvent(approval));
    expect(screen.getByRole('article').textContent).toContain('Runs the tests.');
  });
});

describe('approving', () => {
  it('[AP-8] names the digest that is displayed', async () => {
    const page = await openCard();
    await page.look();
    await page.press('y');
    expect(page.server.bodiesOf('approve')).toEqual([{ digest: page.approval.digest, device: 'test page' }]);
    expect(page.row().textContent).toContain('You approved this');
    expect(screen.queryByRole('article')).toBeNull();
  });

  it('[UI-6] discards a key or click before half a second of attention, and says so', async () => {
    const page = await openCard();
    page.card().focus();
    await page.press('y');
    fireEvent.click(within(page.card()).getByRole('button', { name: /^Approve y/ }));
    await settle();
    expect(decided(page)).toEqual([]);
    expect(page.card().textContent).toContain('Too quick');
    await page.clock.advance(500);
    fireEvent.click(within(page.card()).getByRole('button', { name: /^Approve y/ }));
    await settle();
    expect(decided(page)).toHaveLength(1);
  });

  it('[UI-6] accepts a key for a card that was read for nine seconds, wherever the focus is', async () => {
    const page = await openCard();
    await page.clock.advance(9_000);
    page.card().focus();
    await page.press('y');
    expect(decided(page)).toHaveLength(1);
  });

  it('[UI-6] a click counts as a key does: by how long the card was in sight', async () => {
    const page = await openCard();
    const approve = within(page.card()).getByRole('button', { name: /^Approve y/ });
    await page.clock.advance(499);
    fireEvent.click(approve, { detail: 1 });
    await settle();
    expect(decided(page)).toEqual([]);
    await page.clock.advance(1);
    fireEvent.click(approve, { detail: 1 });
    await settle();
    expect(decided(page)).toHaveLength(1);
  });

  it('[AP-8] shows no preview that its digest does not name, and leaves only rejecting', async () => {
    const page = await openCard();
    const forged = { ...page.approval, preview: { kind: 'summary', summary: 'Nothing at all.' } as const };
    await page.server.emit(requestEvent(forged));
    await page.look();
    expect(page.card().textContent).not.toContain('Nothing at all.');
    expect(page.card().textContent).toContain('does not fit its digest');
    expect(screen.getByRole('button', { name: /^Approve y/ })).toHaveProperty('disabled', true);
    await page.press('y');
    expect(decided(page)).toEqual([]);
    await page.press('n');
    await page.clock.advance(500);
    await userEvent.click(screen.getByRole('button', { name: /^Reject/ }));
    await settle();
    expect(page.server.bodiesOf('reject')).toHaveLength(1);
  });

  it('[UI-6] a new preview must be looked at anew', async () => {
    const page = await openCard();
    await page.look();
    const other = `sha256:${'b'.repeat(64)}`;
    const update = updateEvent(page.approval, { revision: 2, digest: other, preview: diffPreview });
    await page.server.emit(update);
    await page.press('y');
    expect(decided(page)).toEqual([]);
    await page.clock.advance(500);
    await page.press('y');
    expect(page.server.bodiesOf('approve')).toEqual([{ digest: update.data.digest, device: 'test page' }]);
  });

  it.each([
    ['moved under the pointer', { top: -40, bottom: 60 }],
    ['is only partly in sight', { top: 700, bottom: 800 }],
    ['is laid out nowhere', { top: 0, bottom: 0 }],
  ])('[UI-6] a card that %s is not decided, be it this very moment', async (_what, place) => {
    const page = await openCard();
    await page.clock.advance(1_000);
    Object.assign(layout, place);
    await page.press('y');
    fireEvent.click(within(page.card()).getByRole('button', { name: /^Approve y/ }), { detail: 1 });
    await settle();
    expect(decided(page)).toEqual([]);
  });

  it('[UI-6] what was hidden must be looked at anew', async () => {
    const page = await openCard();
    await page.look();
    document.dispatchEvent(new Event('visibilitychange'));
    await page.press('y');
    expect(decided(page)).toEqual([]);
    await page.clock.advance(500);
    await page.press('y');
    expect(decided(page)).toHaveLength(1);
  });

  it('[UI-6] a preview that is fetched later must be looked at too, though its digest was there before', async () => {
    const page = await openCard({ preview: null });
    const { approval_id } = page.approval;
    const answer = Promise.withResolvers<object>();
    page.server.on('getApproval', () => answer.promise);
    await page.server.emit(
      event('approval.updated', { approval_id, digest, preview: null, omitted: ['preview'] }),
    );
    await page.look();
    const whole = sealed({ ...page.approval, digest, digest_base: null, preview: diffPreview });
    answer.resolve({ success: true, approval: whole });
    await settle();
    expect(page.card().querySelector('.file-diff')).not.toBeNull();
    await page.press('y');
    expect(decided(page)).toEqual([]);
    await page.clock.advance(500);
    await page.press('y');
    expect(decided(page)).toHaveLength(1);
  });

  it('[AP-7] without a preview it takes a second step, which a preview withdraws', async () => {
    const page = await openCard({ preview: null, digest: null });
    await page.look();
    await page.press('y');
    expect(decided(page)).toEqual([]);
    expect(page.card().textContent).toContain('you would approve this without having seen what it does');
    const update = updateEvent(page.approval, { digest, preview: diffPreview });
    await page.server.emit(update);
    await page.clock.advance(500);
    expect(screen.queryByRole('button', { name: /^Yes, approve it unseen/ })).toBeNull();
    await page.press('y');
    expect(page.server.bodiesOf('approve')).toEqual([{ digest: update.data.digest, device: 'test page' }]);
  });

  it('[AP-7] what a connected runner previews is not approved before, nor after a second step that was open', async () => {
    const page = await openCard({ preview: null, digest: null });
    await page.look();
    await page.press('y');
    const runners = examples<{ runners: object[] }>('bodies/listRunners.response')[0]?.runners ?? [];
    const { project_id } = page.approval;
    const previews = runners.map((one) => ({
      ...one,
      project_id,
      capabilities: ['preview'],
      connected: true,
    }));
    page.server.on('listRunners', { success: true, runners: previews });
    await page.server.emit(event('runner.changed', { project_id }));
    expect(screen.queryByRole('button', { name: /^Yes, approve it unseen/ })).toBeNull();
    expect(page.card().textContent).toContain('can be approved once its preview is here');
    expect(screen.getByRole<HTMLButtonElement>('button', { name: /^Approve y/ }).disabled).toBe(true);
    for (const key of ['y', 'y']) {
      await page.clock.advance(500);
      await page.press(key);
    }
    expect(decided(page)).toEqual([]);
    await page.server.emit(updateEvent(page.approval, { digest, preview: diffPreview }));
    await page.clock.advance(500);
    await page.press('y');
    expect(decided(page)).toHaveLength(1);
  });

  it('[AP-7] what has no preview yet can be approved deliberately', async () => {
    const page = await openCard({ preview: null, digest: null });
    await page.look();
    await page.press('y');
    await page.clock.advance(500);
    await page.press('y');
    expect(page.server.bodiesOf('approve')).toEqual([{ device: 'test page' }]);
  });

  it.each([
    [null, 'You approved this'],
    [{ status: 'approved', device: 'phone' }, 'You approved this on phone'],
  ] as const)(
    '[AP-2] if the event arrives before the response (%j), the card does not say who decided',
    async (standing, words) => {
      const page = await openCard();
      const answer = Promise.withResolvers<object>();
      page.server.on('approve', () => answer.promise);
      await page.look();
      await page.press('y');
      const who = {
        device: 'phone',
        approved_by: 'user',
        grant_id: null,
        reason: null,
        message: null,
      } as const;
      await page.server.emit(
        event('approval.resolved', { approval_id: page.approval.approval_id, status: 'approved', ...who }),
      );
      expect(page.card().textContent).toContain('Sending your decision…');
      expect(page.card().textContent).not.toContain('phone');
      if (standing) answer.reject(new Refused(409, 'ALREADY_DECIDED', { standing }));
      else answer.resolve(examples<object>('bodies/approve.response')[0] ?? {});
      await settle();
      expect(page.row().querySelector('.call-fact')?.textContent).toBe(words);
    },
  );

  it('[AP-2] an event that says otherwise is said at once', async () => {
    const page = await openCard();
    page.server.on('approve', () => new Promise<object>(() => {}));
    await page.look();
    await page.press('y');
    const who = { device: 'phone', approved_by: null, grant_id: null, reason: null, message: null };
    await page.server.emit(
      event('approval.resolved', { approval_id: page.approval.approval_id, status: 'rejected', ...who }),
    );
    expect(page.row().textContent).toContain('You rejected this on phone');
  });

  it('is not possible while the connection is lost', async () => {
    const page = await openCard();
    await page.look();
    await page.server.loseConnection();
    expect(within(page.card()).getByRole('button', { name: /^Approve y/ })).toHaveProperty('disabled', true);
    await page.press('y');
    expect(decided(page)).toEqual([]);
  });
});

describe('[RK-1] a HIGH call', () => {
  it('needs a second, deliberate step', async () => {
    const page = await openCard({ risk_level: 'HIGH' });
    await page.look();
    await page.press('y');
    expect(decided(page)).toEqual([]);
    expect(page.card().textContent).toContain('This is a high-risk call. Look at it once more.');
    await page.press('y');
    expect(decided(page)).toEqual([]); // a double press does not confirm
    await page.clock.advance(500);
    await page.press('y');
    expect(decided(page)).toHaveLength(1);
  });

  it('[UI-6] has the focus on the safe answer: Enter, a pause and Enter approve nothing', async () => {
    const page = await openCard({ risk_level: 'HIGH' });
    await page.look();
    screen.getByRole('button', { name: /^Approve y/ }).focus();
    await page.press('{Enter}');
    expect(document.activeElement).toBe(screen.getByRole('button', { name: 'Back' }));
    await page.clock.advance(500);
    await page.press('{Enter}');
    expect(screen.queryByRole('button', { name: 'Back' })).toBeNull();
    expect(decided(page)).toEqual([]);
  });

  it('can be left again by Escape and by Back', async () => {
    const page = await openCard({ risk_level: 'HIGH' });
    await page.look();
    await page.press('y');
    await page.press('{Escape}');
    expect(page.card().textContent).not.toContain('Look at it once more');
    await page.clock.advance(500);
    await page.press('y');
    fireEvent.click(screen.getByRole('button', { name: 'Back' }));
    await page.clock.advance(500);
    expect(screen.queryByRole('button', { name: /Yes, approve/ })).toBeNull();
    expect(decided(page)).toEqual([]);
  });

  it('[AP-7] cannot be approved before its preview is there', async () => {
    const page = await openCard({ risk_level: 'HIGH', preview: null, digest: null });
    await page.look();
    expect(page.card().textContent).toContain('can be approved once its preview is here');
    await page.press('y');
    await page.clock.advance(500);
    await page.press('y');
    expect(decided(page)).toEqual([]);
  });

  it('[AP-7] says so if and only if no runner can make the preview', async () => {
    const asked = { risk_level: 'HIGH', preview: null, digest: null, runner_id: null } as const;
    const { card } = await openCard(asked);
    expect(card().textContent).toContain('Your machine is still working out');
    expect(card().textContent).not.toContain('No runner is connected');
    cleanup();
    const server = new TestServer();
    server.on('listRunners', { success: true, runners: [] });
    expect((await openCard(asked, server)).card().textContent).toContain('No runner is connected');
  });
});

describe('responses that do not settle the request', () => {
  const tooLate = 'Your decision came later and does not count: the first one stands.';

  it.each([
    ['PREVIEW_CHANGED', 'what would happen changed while you looked'],
    ['PREVIEW_PENDING', 'the preview of this is still being made'],
    ['RISK_ROSE', 'the risk is higher'],
    ['GRANT_NOT_ALLOWED', 'this wider approval is not possible here'],
    ['APPROVAL_STALE', 'Nothing ran: something changed after you approved.'],
    ['INTERNAL', 'refused: INTERNAL'],
  ])('[AP-8] %s is explained on the card, which stays', async (code, words) => {
    const page = await openCard();
    page.server.on('approve', () => {
      throw new Refused(409, code);
    });
    page.server.on('getApproval', {
      success: true,
      approval: { ...page.approval, revision: 2, risk_level: 'HIGH' },
    });
    await page.look();
    await page.press('y');
    expect(screen.getByRole('alert').textContent).toContain(words);
    expect(page.card().dataset.waiting).toBe('true');
    expect(page.card().textContent?.includes('Revision 2')).toBe(
      ['PREVIEW_CHANGED', 'PREVIEW_PENDING', 'RISK_ROSE', 'APPROVAL_STALE'].includes(code),
    );
  });

  it('[AP-2] ALREADY_DECIDED otherwise: the card says who was first, and that this one does not count', async () => {
    const page = await openCard();
    page.server.on('approve', () => {
      throw new Refused(409, 'ALREADY_DECIDED', { standing: { status: 'rejected', device: 'phone' } });
    });
    await page.look();
    await page.press('y');
    expect(page.row().textContent).toContain('You rejected this on phone');
    expect(screen.getByRole('alert').textContent).toBe(tooLate);
    const resolved = { status: 'rejected', device: 'phone', approved_by: null, grant_id: null } as const;
    await page.server.emit(
      event('approval.resolved', { approval_id: page.approval.approval_id, ...resolved, reason: 'No' }),
    );
    expect(screen.getByRole('alert').textContent).toBe(tooLate); // the notice stays when the event arrives
    expect(page.row().textContent).toContain('No');
  });

  it('[AP-2] ALREADY_DECIDED in the same way: the card says where', async () => {
    const page = await openCard();
    page.server.on('approve', () => {
      throw new Refused(409, 'ALREADY_DECIDED', { standing: { status: 'approved', device: 'phone' } });
    });
    await page.look();
    await page.press('y');
    expect(page.row().textContent).toContain('You approved this on phone');
    expect(screen.queryByRole('alert')).toBeNull();
  });

  it('[AP-2] ALREADY_DECIDED without saying how: the card is read again', async () => {
    const page = await openCard();
    page.server.on('approve', () => {
      throw new Refused(409, 'ALREADY_DECIDED');
    });
    page.server.on('getApproval', { success: true, approval: { ...page.approval, status: 'rejected' } });
    await page.look();
    await page.press('y');
    expect(page.row().textContent).toContain('You rejected this on another device');
    expect(screen.getByRole('alert').textContent).toBe(tooLate);
  });
});

describe('decided elsewhere', () => {
  it.each([
    [{ status: 'approved', device: 'phone', approved_by: 'user' }, 'You approved this on phone'],
    [{ status: 'approved', device: null, approved_by: 'config' }, 'Allowed by a rule or grant of yours'],
    [
      { status: 'rejected', device: null, reason: 'Not now', message: 'Later' },
      'You rejected this on another device',
    ],
    [{ status: 'timeout', device: null }, 'Nobody decided in time'],
    [{ status: 'cancelled', device: null }, 'Withdrawn before you decided'],
    [
      {
        status: 'cancelled',
        device: null,
        error: { code: 'EDIT_NO_MATCH', message: 'It does not occur.', recoverable: true },
      },
      'Failed',
    ],
  ] as const)('[AP-2] %j is said at once, and the card stays readable', async (change, words) => {
    const page = await openCard();
    const base = { approved_by: null, grant_id: null, reason: null, message: null };
    await page.server.emit(
      event('approval.resolved', { approval_id: page.approval.approval_id, ...base, ...change }),
    );
    const text = () => page.row().textContent ?? '';
    expect(text()).toContain(words);
    expect(text()).toContain('Run npm test');
    if ('error' in change) expect(text()).toContain('It does not occur.');
    if ('reason' in change) expect(text()).toMatch(/Not now.*Later/);
    await userEvent.click(within(page.row()).getByRole('button', { name: /^Run npm test/ }));
    expect(text()).toContain('Runs the tests.');
    expect(screen.queryByRole('button', { name: /^Approve/ })).toBeNull();
    await page.clock.advance(500);
    await page.press('y');
    expect(decided(page)).toEqual([]);
  });

  it('[AP-8] APPROVAL_STALE: the first card says that nothing ran, the new one why it asks again', async () => {
    const first = anApproval({ preview: summary, digest });
    const page = await openPage(
      <>
        <ConnectedCard approvalId={first.approval_id} />
        <ConnectedCard approvalId="again" />
      </>,
    );
    await page.server.emit(requestEvent(first));
    screen.getByRole('article').focus();
    await page.clock.advance(500);
    await userEvent.keyboard('y');
    await settle();
    await page.server.emit(
      requestEvent(anApproval({ approval_id: 'again', preview: summary, digest, asked_before: 1 })),
    );
    const [before, again] = page.container.querySelectorAll('.call');
    expect(before?.textContent).toContain('You approved this');
    expect(before?.textContent).toContain('Nothing ran: something changed after you approved.');
    expect(again?.textContent).toContain('what would run has changed since');
    expect(again?.textContent).not.toContain('Nothing ran');
  });

  it('[AP-8] a page that did not see the first card knows that the call was asked before', async () => {
    const page = await openCard({ asked_before: 2 });
    expect(page.card().textContent).toContain('what would run has changed since');
    await page.server.emit(updateEvent(page.approval, { digest, preview: diffPreview }));
    expect(page.card().textContent).toContain('what would run has changed since');
  });
});

describe('rejecting', () => {
  const field = () => screen.getByLabelText('Tell the agent why, or what to do instead');

  it('[AP-5] carries a message in one field, which has the focus', async () => {
    const page = await openCard();
    await page.look();
    await page.press('n');
    expect([document.activeElement, screen.getAllByRole('textbox').length]).toEqual([field(), 1]);
    await userEvent.keyboard('Write the test first');
    await userEvent.click(screen.getByRole('button', { name: /^Reject this call/ }));
    await settle();
    expect(page.server.bodiesOf('reject')).toEqual([
      { message: 'Write the test first', device: 'test page' },
    ]);
  });

  it.each(['{Control>}{Enter}{/Control}', '{Meta>}{Enter}{/Meta}'])('is sent by %s', async (keys) => {
    const page = await openCard();
    await page.look();
    await page.press('n');
    await userEvent.keyboard(`No${keys}`);
    await settle();
    expect(page.server.bodiesOf('reject')).toEqual([{ message: 'No', device: 'test page' }]);
  });

  it('is sent once, and Enter alone is a new line of the message', async () => {
    const page = await openCard();
    await page.look();
    await page.press('n');
    const message = field();
    await userEvent.type(message, 'One{Enter}two');
    expect(page.server.bodiesOf('reject')).toEqual([]);
    page.server.on('reject', () => new Promise<object>(() => {}));
    await userEvent.type(message, '{Control>}{Enter}{Enter}{/Control}');
    await settle();
    expect(page.server.bodiesOf('reject')).toEqual([{ message: 'One\ntwo', device: 'test page' }]);
  });

  it('needs no message, and can be thought better of', async () => {
    const page = await openCard();
    await page.look();
    await page.press('n');
    await userEvent.click(screen.getByRole('button', { name: 'Cancel' }));
    await page.clock.advance(500);
    await page.press('n');
    await page.press('{Enter}');
    expect(page.server.bodiesOf('reject')).toEqual([{ device: 'test page' }]);
  });
});

describe('editing first', () => {
  it('[AP-6] sends the edited parameters, by fields', async () => {
    const page = await openCard({
      tool_params: { path: 'a.md', lines: 3, force: false, args: ['one'], deep: { x: 1 } },
    });
    await page.look();
    await page.press('e');
    await userEvent.type(screen.getByLabelText('path'), 'x');
    fireEvent.change(screen.getByLabelText('lines'), { target: { value: '5' } });
    await userEvent.click(screen.getByLabelText('force'));
    fireEvent.change(screen.getByLabelText('args'), { target: { value: 'one\ntwo' } });
    await page.clock.advance(500);
    await userEvent.click(screen.getByRole('button', { name: /^Approve with these parameters/ }));
    await settle();
    expect(page.server.bodiesOf('approve')).toEqual([
      {
        digest: page.approval.digest,
        device: 'test page',
        tool_params: { path: 'a.mdx', lines: 5, force: true, args: ['one', 'two'], deep: { x: 1 } },
      },
    ]);
  });

  it('[AP-6] a command is one line; one that cannot be read is not sent', async () => {
    const page = await openCard({ tool_params: { command: 'npm', args: ['run', 'a b'], cwd: 'src' } });
    await page.look();
    await page.press('e');
    const line = screen.getByLabelText<HTMLTextAreaElement>('Command');
    expect([document.activeElement, line.value]).toEqual([line, "npm run 'a b'"]);
    fireEvent.change(line, { target: { value: "npm run 'a" } });
    expect(screen.getByRole('alert').textContent).toBe('A quotation mark has no end.');
    expect(line.checkValidity()).toBe(false);
    fireEvent.change(line, { target: { value: "npm test 'a b c'" } });
    expect(line.checkValidity()).toBe(true);
    await page.clock.advance(500);
    await userEvent.click(screen.getByRole('button', { name: /^Approve with these parameters/ }));
    await settle();
    expect(page.server.bodiesOf('approve')).toMatchObject([
      { tool_params: { command: 'npm', args: ['test', 'a b c'], cwd: 'src' } },
    ]);
  });

  it('[AP-6] what a file would contain comes first', async () => {
    const page = await openCard({ tool_name: 'write_file', tool_params: { path: 'a.md', content: 'x' } });
    await page.look();
    await page.press('e');
    expect(document.activeElement).toBe(screen.getByLabelText('content'));
    expect(screen.getByLabelText('path').closest('details')?.open).toBe(false);
  });

  it('[AP-6] as JSON; what is no object cannot be sent', async () => {
    const page = await openCard();
    await page.look();
    await page.press('e');
    await userEvent.click(screen.getByRole('button', { name: 'JSON' }));
    const field = screen.getByLabelText('JSON', { selector: 'textarea' });
    for (const wrong of ['{', '3']) {
      fireEvent.change(field, { target: { value: wrong } });
      expect(screen.getByRole('alert').textContent).toContain('This is not a JSON object');
      expect(screen.getByRole('button', { name: /^Approve with these parameters/ })).toHaveProperty(
        'disabled',
        true,
      );
    }
    fireEvent.change(field, { target: { value: '{"command": "npm"}' } });
    await page.clock.advance(500);
    await userEvent.click(screen.getByRole('button', { name: /^Approve with these parameters/ }));
    await settle();
    expect(page.server.bodiesOf('approve')).toMatchObject([{ tool_params: { command: 'npm' } }]);
  });

  it('[AP-7] names characters that a field would hide', async () => {
    const page = await openCard({ tool_params: { path: 'a\u202eb' } });
    await page.look();
    await page.press('e');
    expect(screen.getByRole('form', { name: 'Edit the parameters' }).textContent).toContain('a⟨U+202E⟩b');
  });
});

describe('approving more', () => {
  it('[AP-4] a class in this session', async () => {
    const page = await openCard();
    await page.look();
    await page.press('a');
    await page.clock.advance(500);
    await userEvent.click(screen.getByRole('button', { name: 'Approve and remember' }));
    await settle();
    expect(page.server.bodiesOf('approve')).toEqual([
      { digest: page.approval.digest, scope: 'class', pattern: 'npm *', device: 'test page' },
    ]);
  });

  it('[AP-4] the session, with its warning, and HIGH only when said explicitly', async () => {
    const page = await openCard();
    await page.look();
    await page.press('a');
    await userEvent.click(screen.getByRole('radio', { name: /^Whole conversation/ }));
    expect(page.card().textContent).toContain('without asking you again');
    await userEvent.click(screen.getByLabelText('High-risk calls too, without asking'));
    expect(page.card().textContent).toContain('would run without your decision');
    await page.clock.advance(500);
    await userEvent.click(screen.getByRole('button', { name: 'Approve and remember' }));
    await settle();
    expect(page.server.bodiesOf('approve')).toEqual([
      { digest: page.approval.digest, scope: 'session', include_high: true, device: 'test page' },
    ]);
  });

  it('[AP-4] always, with what the rule would have decided before', async () => {
    const page = await openCard();
    const found = {
      considered: 300,
      matched: 212,
      would_change: 9,
      approved_before: 200,
      rejected_before: 2,
      examples: [],
    };
    page.server.on('backtestPolicy', { success: true, ...found });
    await page.look();
    await page.press('a');
    await userEvent.click(screen.getByRole('radio', { name: /^Always: the command npm test/ }));
    await settle();
    expect(page.card().textContent).toContain(
      'would have decided 212 earlier calls, 2 of which you rejected.',
    );
    expect(page.server.bodiesOf('backtestPolicy')).toEqual([
      {
        rule: {
          id: 'to-be-granted',
          effect: 'allow',
          tool: 'execute_command',
          max_risk: 'MEDIUM',
          command: 'npm test',
          harmless_only: true,
        },
      },
    ]);
    await page.clock.advance(500);
    await userEvent.click(screen.getByRole('button', { name: 'Approve and save the rule' }));
    await settle();
    expect(page.server.bodiesOf('approve')).toMatchObject([{ scope: 'always', pattern: 'npm test' }]);
  });

  it('says when the history could not be looked at, and when nothing in it matched', async () => {
    const page = await openCard();
    page.server.on('backtestPolicy', () => {
      throw new Refused(400, 'POLICY_INVALID');
    });
    await page.look();
    await page.press('a');
    await userEvent.click(screen.getByRole('radio', { name: /^Always: the command npm test/ }));
    await settle();
    expect(page.card().textContent).toContain('could not be looked at: refused: POLICY_INVALID');
    const none = {
      considered: 3,
      matched: 0,
      would_change: 0,
      approved_before: 0,
      rejected_before: 0,
      examples: [],
    };
    page.server.on('backtestPolicy', { success: true, ...none });
    await userEvent.click(screen.getByRole('radio', { name: /^Harmless npm commands in this conversation/ }));
    await userEvent.click(screen.getByRole('radio', { name: /^Always: the command npm test/ }));
    await settle();
    expect(page.card().textContent).toContain('none of your earlier calls');
  });

  it('[RK-1] a HIGH call needs its second step here too', async () => {
    const page = await openCard({ risk_level: 'HIGH' });
    await page.look();
    await page.press('a');
    await page.clock.advance(500);
    await userEvent.click(screen.getByRole('button', { name: 'Approve and remember' }));
    expect(decided(page)).toEqual([]);
    await page.clock.advance(500);
    await userEvent.click(screen.getByRole('button', { name: /Yes, approve/ }));
    await settle();
    expect(page.server.bodiesOf('approve')).toMatchObject([{ scope: 'class', pattern: 'npm *' }]);
  });

  it('[AP-4] says when a call can only be approved one by one', async () => {
    const page = await openCard({ offered_scopes: [] });
    await page.look();
    await page.press('a');
    expect(page.card().textContent).toContain('can only be approved one by one');
    await userEvent.click(screen.getByRole('button', { name: 'Back' }));
    expect(screen.getByRole('button', { name: /^Approve y/ })).toBeTruthy();
  });
});

it('[RK-1] [UI-6] the second step of a HIGH call is looked at anew', async () => {
  const page = await openCard({ risk_level: 'HIGH' });
  await page.look();
  await page.press('y');
  const confirm = screen.getByRole('button', { name: /^Yes, approve/ });
  fireEvent.click(confirm, { detail: 1 });
  await settle();
  expect(decided(page)).toEqual([]);
  await page.clock.advance(500);
  fireEvent.click(confirm, { detail: 1 });
  await settle();
  expect(decided(page)).toHaveLength(1);
});

describe('what opens on a card', () => {
  it.each(['n', 'a', 'e', 'y'])('is brought into view after %s, also when it grows', async (key) => {
    const shown: string[] = [];
    vi.spyOn(Element.prototype, 'scrollIntoView').mockImplementation(function (this: Element, options) {
      shown.push(`${this.className} ${JSON.stringify(options)}`);
    });
    const grow: (() => void)[] = [];
    vi.stubGlobal(
      'ResizeObserver',
      class {
        constructor(callback: () => void) {
          grow.push(callback);
        }
        observe() {}
        disconnect() {}
      },
    );
    const page = await openCard({ risk_level: 'HIGH' });
    await page.look();
    expect(shown).toEqual([]);
    await page.press(key);
    expect(shown).toEqual([expect.stringMatching(/card-step {"block":"nearest"}$/)]);
    grow.at(-1)?.();
    // While somebody types, the form does not move under their hands.
    expect(shown).toHaveLength(['a', 'y'].includes(key) ? 2 : 1);
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
  });
});

describe('why a press counted for nothing', () => {
  it('is brought into view', async () => {
    const shown: string[] = [];
    vi.spyOn(Element.prototype, 'scrollIntoView').mockImplementation(function (this: Element) {
      shown.push(this.textContent ?? '');
    });
    const page = await openCard();
    expect(shown).toEqual([]);
    fireEvent.click(within(page.card()).getByRole('button', { name: /^Approve y/ }), { detail: 1 });
    await settle();
    expect(shown).toContainEqual(expect.stringMatching(/^Too quick/));
    vi.restoreAllMocks();
  });
});

describe('the focus', () => {
  it('goes to the next card that waits', async () => {
    const one = anApproval({ approval_id: 'one', preview: summary, digest });
    const two = anApproval({ approval_id: 'two', preview: summary, digest });
    const page = await openPage(
      <>
        <ConnectedCard approvalId="one" />
        <ConnectedCard approvalId="two" />
      </>,
    );
    await page.server.emit(requestEvent(one), requestEvent(two));
    screen.getAllByRole('article')[0]?.focus();
    await page.clock.advance(500);
    await userEvent.keyboard('y');
    await settle();
    expect(document.activeElement?.getAttribute('data-approval')).toBe('two');
  });

  it('goes to the line that the card has become', async () => {
    const page = await openCard();
    within(page.card())
      .getByRole('button', { name: /^Approve y/ })
      .focus();
    await page.clock.advance(500);
    await userEvent.keyboard('{Enter}');
    await settle();
    expect(document.activeElement).toBe(within(page.row()).getByRole('button', { name: /^Run npm test/ }));
  });

  it('[UI-6] is not moved by a card that is settled without the focus', async () => {
    const page = await openCard();
    const { approval_id } = page.approval;
    expect(document.activeElement).toBe(document.body);
    const base = { approved_by: null, grant_id: null, reason: null, message: null, device: null };
    await page.server.emit(event('approval.resolved', { approval_id, ...base, status: 'cancelled' }));
    expect(document.activeElement).toBe(document.body);
  });
});

it('[UI-1] speaks Russian', async () => {
  const approval = anApproval({ preview: summary, digest });
  const page = await openPage(<ConnectedCard approvalId={approval.approval_id} />, { language: 'ru' });
  await page.server.emit(requestEvent(approval));
  const text = screen.getByRole('article').textContent ?? '';
  expect(text).toContain('assistant хочет выполнить npm test');
  expect(text).toContain('осталось 5:00');
  screen.getByRole('article').focus();
  await page.clock.advance(500);
  await userEvent.keyboard('a');
  expect(screen.getByRole('radio', { name: /^Безобидные команды npm в этой беседе/ })).toBeTruthy();
});
