// @vitest-environment happy-dom
import type { TrialOutcome } from '@countersign/approvals';
import type { Approval, Preview } from '@countersign/protocol';
import { cleanup, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, describe, expect, it } from 'vitest';
import {
  anApproval,
  examples,
  openPage,
  Refused,
  requestEvent,
  settle,
  TestServer,
  updateEvent,
} from '../page-fixture.test-data.tsx';
import { ConnectedCard } from './connected-card.tsx';

afterEach(cleanup);

type CommandPreview = Extract<Preview, { kind: 'command' }>;

const command: CommandPreview = {
  kind: 'command',
  commands: [['make']],
  cwd: '',
  network: false,
  reversible: true,
  scripts: [],
};
const diff = '--- a/a.ts\n+++ b/a.ts\n@@ -1 +1 @@\n-old\n+new\n';
const outcome: TrialOutcome = {
  ended: 'exit',
  exit_code: 0,
  duration_ms: 1_200,
  stdout: 'made\n',
  stderr: '',
  files: [
    { path: 'old.ts', change: 'deleted', size: 3 },
    { path: 'a.ts', change: 'modified', size: 4, diff },
  ],
  counts: { created: 0, modified: 1, deleted: 1, mode: 0 },
  withheld: [],
  left_out: [],
  hosts: [],
};
const tried = (change: Partial<TrialOutcome> = {}): CommandPreview => ({
  ...command,
  trial: { ...outcome, ...change },
});

async function openCard(change: Partial<Approval> = {}, capabilities = ['preview', 'trials']) {
  const server = new TestServer();
  const runner = examples<{ runners: object[] }>('bodies/listRunners.response')[0]?.runners[0];
  const approval = anApproval({
    tool_name: 'execute_command',
    network: false,
    runner_id: 'r1',
    preview: command,
    digest: `sha256:${'a'.repeat(64)}`,
    ...change,
  });
  const { project_id } = approval;
  const connected = { ...runner, runner_id: 'r1', project_id, connected: true, capabilities };
  server.on('listRunners', { success: true, runners: [connected] });
  const page = await openPage(<ConnectedCard approvalId={approval.approval_id} />, { server });
  await server.emit(requestEvent(approval));
  const press = async (key: string) => {
    await userEvent.keyboard(key);
    await settle();
  };
  const look = async () => {
    screen.getByRole('article').focus();
    await page.clock.advance(500);
  };
  const update = (change: Partial<Approval>) =>
    server.emit(updateEvent(approval, { ...approval, ...change }));
  return { ...page, approval, press, look, update };
}

const tryButton = () => screen.queryByRole('button', { name: /^Try it first/ });
const approveButton = () => screen.getByRole('button', { name: /^Approve (?!more)/ });

describe('[RN-13] trying a command first', () => {
  it('is offered where the machine can, and the key t does it', async () => {
    const { server, look, press, clock, approval } = await openCard();
    expect(tryButton()).not.toBeNull();
    server.on('tryCall', { success: true, approval: { ...approval, trying: true } });
    await look();
    await press('t');
    expect(server.bodiesOf('tryCall')).toEqual([{ device: 'test page' }]);
    expect(screen.getByRole('article').textContent).toContain('Trying it without network');
    await clock.advance(3_000);
    expect(screen.getByRole('article').textContent).toContain('3 s');
    expect(tryButton()).toBeNull();
  });

  it.each([
    ['a machine without layers', {}, ['preview']],
    ['a call with network', { network: true }, ['trials']],
    ['a tried call', { preview: tried() }, ['trials']],
    ['another tool', { tool_name: 'write_file' }, ['trials']],
  ] as const)('is not offered for %s, and t does nothing', async (_, change, capabilities) => {
    const { server, look, press } = await openCard(change as Partial<Approval>, [...capabilities]);
    expect(tryButton()).toBeNull();
    await look();
    await press('t');
    expect(server.bodiesOf('tryCall')).toEqual([]);
  });

  it('[UI-6] needs the card to have been looked at, as every key does', async () => {
    const { server, press } = await openCard();
    screen.getByRole('article').focus();
    await press('t');
    expect(server.bodiesOf('tryCall')).toEqual([]);
  });

  it('says why it was refused, and the call can be approved as it is', async () => {
    const { server, look, press, approval } = await openCard();
    server.on('tryCall', () => {
      throw new Refused(409, 'NOT_TRYABLE');
    });
    server.on('getApproval', { success: true, approval });
    await look();
    await press('t');
    expect(screen.getByRole('alert').textContent).toContain('refused: NOT_TRYABLE');
    expect(approveButton()).toHaveProperty('disabled', false);
  });

  it('[AP-8] cannot be approved while it is tried, nor by a key that was meant for what was shown before', async () => {
    const { server, look, press, update, clock } = await openCard();
    await look();
    await update({ trying: true });
    await press('y');
    expect(approveButton()).toHaveProperty('disabled', true);
    await update({ preview: tried() });
    await press('y');
    expect(server.bodiesOf('approve')).toEqual([]);
    await clock.advance(500);
    await press('y');
    const [{ digest }] = server.bodiesOf('approve') as [{ digest: string }];
    expect(digest).toMatch(/^sha256:/);
    expect(digest).not.toBe(`sha256:${'a'.repeat(64)}`);
  });

  it('can be rejected while it is tried', async () => {
    const { server, look, press, update } = await openCard();
    await update({ trying: true });
    await look();
    await press('n');
    await userEvent.click(screen.getByRole('button', { name: /^Reject this call/ }));
    await settle();
    expect(server.bodiesOf('reject')).toHaveLength(1);
  });
});

describe('[RN-13] what a trial did', () => {
  it('is shown at a glance, with deletions first and diffs folded until somebody unfolds one', async () => {
    await openCard({ preview: tried() });
    const text = () => screen.getByRole('article').textContent ?? '';
    expect(text()).toContain('1 changed, 1 deleted · exit 0 · 1.2 s');
    expect(text().indexOf('old.ts')).toBeLessThan(text().indexOf('a.ts', text().indexOf('old.ts') + 6));
    expect(text()).toContain('made');
    expect(text()).toContain('Can be undone');
    expect(screen.queryByText('new')).toBeNull();
    await userEvent.click(screen.getByText('a.ts'));
    await settle();
    expect(screen.getByText('new')).toBeDefined();
    expect(approveButton().textContent).toContain('Approve changes');
  });

  it('without effects gives the output to the agent, and says so', async () => {
    const counts = { created: 0, modified: 0, deleted: 0, mode: 0 };
    await openCard({ preview: tried({ files: [], counts }) });
    expect(screen.getByRole('article').textContent).toContain('Nothing would change · exit 0');
    expect(approveButton().textContent).not.toContain('changes');
  });

  it('with 50,000 effects draws the first rows only, and says how many more there are', async () => {
    const files = Array.from({ length: 1_000 }, (_, index) => ({
      path: `out/${index}.js`,
      change: 'created' as const,
      size: 1,
      diff,
    }));
    const counts = { created: 50_000, modified: 0, deleted: 0, mode: 0 };
    const { container } = await openCard({ preview: tried({ files, counts }) });
    expect(container.querySelectorAll('.file-diff')).toHaveLength(100);
    expect(container.querySelector('.diff')).toBeNull();
    expect(screen.getByRole('article').textContent).toContain('49000 more changes are not listed here.');
  });
});
