// @vitest-environment happy-dom
import type { Approval } from '@countersign/protocol';
import { cleanup, fireEvent, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, describe, expect, it } from 'vitest';
import {
  anApproval,
  layout,
  openPage,
  requestEvent,
  settle,
  updateEvent,
} from '../page-fixture.test-data.tsx';
import { ConnectedCard } from './connected-card.tsx';
import { StepGroup } from './step-group.tsx';

afterEach(cleanup);
afterEach(() => void Object.assign(layout, { top: 0, bottom: 100 }));

const preview = { kind: 'summary', summary: 'Runs the tests.' } as const;
const digest = `sha256:${'a'.repeat(64)}` as const;
const context = { message_id: 'm1', run_id: 'r1', step: 0, excerpt: '' };
const approval = (approval_id: string, change: Partial<Approval> = {}) =>
  anApproval({ approval_id, tool_id: `tool-${approval_id}`, preview, digest, context, ...change });

async function openStep(approvals: readonly Approval[]) {
  const page = await openPage(
    <StepGroup messageId="m1">
      {approvals.map(({ approval_id }) => (
        <ConnectedCard key={approval_id} approvalId={approval_id} />
      ))}
    </StepGroup>,
  );
  await page.server.emit(...approvals.map(requestEvent));
  const all = () => screen.queryByRole<HTMLButtonElement>('button', { name: /^Approve all/ });
  /** The page looks ten times a second where the cards are. */
  const pass = async (ms: number) => {
    await page.clock.advance(ms);
    await new Promise((resolve) => setTimeout(resolve, 150));
    await settle();
  };
  const approved = () => page.server.bodiesOf('approve').length;
  return { ...page, all, pass, approved };
}

describe('calls of one step that wait', () => {
  it('[UI-6] are approved together once each was in sight for half a second', async () => {
    const { all, pass, approved } = await openStep(['a', 'b', 'c'].map((id) => approval(id)));
    expect([all()?.textContent, all()?.disabled]).toEqual(['Approve all 3 shown ⇧Y', true]);
    expect(document.body.textContent).toContain('Look at each first: 0 of 3 seen.');
    await pass(500);
    expect(all()?.disabled).toBe(false);
    fireEvent.click(all() as HTMLElement, { detail: 1 });
    await settle();
    expect(approved()).toBe(0); // the question has appeared only now
    await pass(500);
    fireEvent.click(all() as HTMLElement, { detail: 1 });
    await settle();
    expect(approved()).toBe(3);
  });

  it('[UI-6] wait for one that was not in sight, or that has changed since', async () => {
    const one = approval('a');
    layout.top = 900;
    layout.bottom = 1000;
    const { all, pass, server } = await openStep([one, approval('b')]);
    await pass(500);
    expect(all()?.disabled).toBe(true);
    Object.assign(layout, { top: 0, bottom: 100 });
    await pass(0);
    await pass(500);
    expect(all()?.disabled).toBe(false);
    await server.emit(
      updateEvent(one, { revision: 2, preview: { kind: 'summary', summary: 'Something else.' } }),
    );
    expect(all()?.disabled).toBe(true);
  });

  it('Shift+Y on one of them approves all, y approves one', async () => {
    const { pass, approved } = await openStep(['a', 'b', 'c'].map((id) => approval(id)));
    await pass(500);
    await pass(500);
    screen.getAllByRole('article')[1]?.focus();
    await userEvent.keyboard('y');
    await settle();
    expect(approved()).toBe(1);
    await pass(500);
    await userEvent.keyboard('{Shift>}Y{/Shift}');
    await settle();
    expect(approved()).toBe(3);
  });

  it('[RK-1] a HIGH one keeps its own step, and one without a preview its question', async () => {
    const unseen = approval('d', { preview: null, digest: null });
    const { all, pass, approved } = await openStep([
      approval('a'),
      approval('b'),
      approval('c', { risk_level: 'HIGH' }),
      unseen,
    ]);
    await pass(500);
    await pass(500);
    expect(all()?.textContent).toBe('Approve all 2 shown ⇧Y');
    expect(document.body.textContent).toContain('2 others are decided on their own card.');
    fireEvent.click(all() as HTMLElement, { detail: 1 });
    await settle();
    expect([approved(), screen.getAllByRole('article').length]).toEqual([2, 2]);
  });

  it('are not approved over what the person is writing on one of them', async () => {
    const { all, pass, approved } = await openStep([approval('a'), approval('b')]);
    await pass(500);
    await pass(500);
    expect(all()?.disabled).toBe(false);
    fireEvent.click(screen.getAllByRole('button', { name: /^Reject/ })[1] as HTMLElement);
    await pass(500);
    expect(all()?.disabled).toBe(true);
    fireEvent.click(all() as HTMLElement, { detail: 1 });
    fireEvent.click(screen.getByRole('button', { name: 'Cancel' }));
    await pass(500);
    await pass(500);
    expect([approved(), all()?.disabled]).toEqual([0, false]);
  });

  it('a single one is a card as ever', async () => {
    const { all, container } = await openStep([approval('a')]);
    expect([all(), container.querySelector('.several')]).toEqual([null, null]);
  });
});
