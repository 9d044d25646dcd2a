// @vitest-environment happy-dom
import type { Grant } from '@countersign/protocol';
import { cleanup, fireEvent, screen, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, describe, expect, it } from 'vitest';
import { examples, openPage, Refused, settle, TestServer } from '../page-fixture.test-data.tsx';
import { PermissionsScreen } from './permissions-screen.tsx';

afterEach(cleanup);

const grant = (change: Partial<Grant> = {}): Grant => ({
  ...(examples<{ grants: Grant[] }>('bodies/listGrants.response')[0]?.grants[0] as Grant),
  revoked_at: null,
  ...change,
});
const policy = {
  version: 1,
  rules: [
    {
      id: 'r1',
      effect: 'allow',
      tool: 'execute_command',
      command: 'npm test *',
      max_risk: 'MEDIUM',
      harmless_only: true,
      why: 'tests are fine',
    },
    { id: 'r2', effect: 'deny', tool: 'delete_file' },
  ],
};

async function open(prepare: (server: TestServer) => void = () => {}, language: 'en' | 'ru' = 'en') {
  const server = new TestServer();
  server.on('listGrants', { success: true, grants: [] });
  server.on('listTokens', { success: true, tokens: [] });
  server.on('getPolicy', { success: true, policy });
  prepare(server);
  return openPage(<PermissionsScreen />, { server, language });
}

const panel = (name: string) => screen.getByRole('region', { name });

describe('[AP-4] grants', () => {
  it('are seen and counted, those in force first', async () => {
    await open((server) =>
      server.on('listGrants', {
        success: true,
        grants: [
          grant({ grant_id: 'g1', revoked_at: '2026-02-21T06:00:00Z' }),
          grant({ grant_id: 'g2', tool: '*', pattern: null, uses: 7, session_id: null }),
        ],
      }),
    );
    const rows = within(panel('Grants'))
      .getAllByRole('listitem')
      .map(({ textContent }) => textContent);
    expect(rows[0]).toContain('Every tool all calls');
    expect(rows[0]).toContain('7 uses');
    expect(rows[0]).toContain('every conversation of this workspace');
    expect(rows[1]).toContain('Revoked');
  });

  it('are revoked', async () => {
    const { server } = await open((one) =>
      one.on('listGrants', { success: true, grants: [grant({ grant_id: 'g1' })] }),
    );
    server.on('listGrants', {
      success: true,
      grants: [grant({ grant_id: 'g1', revoked_at: '2026-02-21T06:00:00Z' })],
    });
    await userEvent.click(within(panel('Grants')).getByRole('button', { name: /^Revoke/ }));
    await settle();
    expect(server.requests.some(({ route, url }) => route === 'revokeGrant' && url === '/my/grants/g1')).toBe(
      true,
    );
    expect(panel('Grants').textContent).toContain('Revoked');
  });

  it('say when there are none, and when one could not be revoked', async () => {
    await open();
    expect(panel('Grants').textContent).toContain('No grants.');
    cleanup();
    await open((server) => {
      server.on('listGrants', { success: true, grants: [grant()] });
      server.on('revokeGrant', () => {
        throw new Refused(404, 'NOT_FOUND');
      });
    });
    await userEvent.click(within(panel('Grants')).getByRole('button', { name: /^Revoke/ }));
    await settle();
    expect(screen.getByRole('alert').textContent).toContain('NOT_FOUND');
  });
});

describe('[RK-5] the policy', () => {
  const editor = () => screen.getByLabelText('Policy as JSON');
  const type = (value: string) => fireEvent.change(editor(), { target: { value } });
  const save = () => screen.getByRole('button', { name: 'Save the policy' });

  it('is shown rule by rule', async () => {
    await open();
    const rows = within(panel('Policy'))
      .getAllByRole('listitem')
      .map(({ textContent }) => textContent);
    expect(rows[0]).toContain('Allow execute_command npm test * Up to MEDIUM · harmless commands only');
    expect(rows[0]).toContain('tests are fine');
    expect(rows[1]).toContain('Deny delete_file all calls');
  });

  it('says in Russian why a rule is there that was made on a card', async () => {
    const why = 'you chose "always" on an approval card';
    const rules = [{ id: 'r1', effect: 'allow', tool: 'write_file', path: 'a.md', why }];
    await open((server) => server.on('getPolicy', { success: true, policy: { version: 1, rules } }), 'ru');
    expect(await screen.findByText('вы выбрали «всегда» на карточке')).toBeTruthy();
  });

  it('loses what was always allowed by one click, and nothing that was saved elsewhere meanwhile', async () => {
    const { server } = await open();
    const [allowed, denied] = policy.rules;
    const later = { id: 'r3', effect: 'ask', tool: 'write_file' };
    server.on('getPolicy', { success: true, policy: { version: 1, rules: [allowed, denied, later] } });
    server.on('putPolicy', { success: true, policy: { version: 1, rules: [denied, later] } });
    const revoke = () => within(panel('Policy')).queryAllByRole('button', { name: /^Revoke: / });
    expect(revoke().map((button) => button.getAttribute('aria-label'))).toEqual([
      'Revoke: execute_command npm test *',
    ]);
    await userEvent.click(revoke()[0] as HTMLElement);
    await settle();
    const replaces = { version: 1, rules: [allowed, denied, later] };
    expect(server.bodiesOf('putPolicy')).toEqual([{ version: 1, rules: [denied, later], replaces }]);
    expect(revoke()).toEqual([]);
    expect(panel('Policy').textContent).toContain('Ask write_file');
  });

  it('says why a rule could not be taken out', async () => {
    await open((server) =>
      server.on('putPolicy', () => {
        throw new Refused(400, 'POLICY_INVALID');
      }),
    );
    await userEvent.click(screen.getByRole('button', { name: 'Revoke: execute_command npm test *' }));
    await settle();
    expect(screen.getByRole('alert').textContent).toContain('refused: POLICY_INVALID');
  });

  it('is edited as JSON, with what is wrong told while one types', async () => {
    const { server } = await open();
    await userEvent.click(screen.getByRole('button', { name: 'Edit as JSON' }));
    type('{');
    expect(screen.getByRole('alert').textContent).toContain('This policy is not valid:');
    type('{"version": 2}');
    expect(screen.getByRole('alert').textContent).toContain('version');
    expect(save()).toHaveProperty('disabled', true);
    type('{"version": 1, "rules": []}');
    server.on('putPolicy', { success: true, policy: { version: 1, rules: [] } });
    await userEvent.click(save());
    await settle();
    expect(server.bodiesOf('putPolicy')).toEqual([{ version: 1, rules: [], replaces: policy }]);
    expect(panel('Policy').textContent).toContain('Saved. It counts from the next call on.');
    expect(panel('Policy').textContent).toContain('No rules yet.');
  });

  it('shows what the server finds wrong, and can be left as it was', async () => {
    await open((server) =>
      server.on('putPolicy', () => {
        throw new Refused(400, 'POLICY_INVALID');
      }),
    );
    await userEvent.click(screen.getByRole('button', { name: 'Edit as JSON' }));
    await userEvent.click(save());
    await settle();
    expect(screen.getByRole('alert').textContent).toContain('refused: POLICY_INVALID');
    await userEvent.click(screen.getByRole('button', { name: 'Cancel' }));
    expect(screen.queryByLabelText('Policy as JSON')).toBeNull();
  });

  it('is tried on the history before a new rule is saved, and again when it changes', async () => {
    const { server } = await open((one) =>
      one.on('backtestPolicy', {
        ...{ success: true, considered: 30, matched: 7, would_change: 3, examples: [] },
        ...{ approved_before: 5, rejected_before: 2 },
      }),
    );
    const added = { id: 'r3', effect: 'ask', tool: 'write_file' };
    const edited = { version: 1, rules: [...policy.rules, added] };
    await userEvent.click(screen.getByRole('button', { name: 'Edit as JSON' }));
    type(JSON.stringify(edited));
    await userEvent.click(save());
    await settle();
    expect(server.bodiesOf('backtestPolicy')).toEqual([{ rule: added }]);
    expect(panel('Policy').textContent).toContain('it covers 7 and changes the outcome of 3');
    expect(server.bodiesOf('putPolicy')).toEqual([]);
    type(JSON.stringify({ ...edited, rules: [...policy.rules, { ...added, tool: 'git_push' }] }));
    expect(panel('Policy').textContent).not.toContain('it covers 7');
    await userEvent.click(save());
    await settle();
    server.on('putPolicy', () => {
      throw new Refused(409, 'POLICY_CHANGED');
    });
    await userEvent.click(screen.getByRole('button', { name: 'Save it now' }));
    await settle();
    expect(server.bodiesOf('putPolicy')).toMatchObject([{ replaces: policy }]);
    expect(screen.getByRole('alert').textContent).toContain('POLICY_CHANGED');
    expect(editor()).toBeTruthy(); // what was typed is still there
  });

  it('says where it is kept, and what the file of this machine is good for', async () => {
    await open();
    expect(panel('Policy').textContent).toContain('Kept at this server, for all of your machines');
    cleanup();
    const file = { path: '/home/ada/.config/countersign/policy.json' };
    await open((server) => server.on('getPolicy', { success: true, policy, file }));
    expect(panel('Policy').textContent).toContain(
      `Kept on this machine, for everything that runs here: ${file.path}`,
    );
    cleanup();
    const broken = { ...file, problem: 'it is not JSON' };
    await open((server) => server.on('getPolicy', { success: true, policy, file: broken }));
    expect(screen.getByRole('alert').textContent).toContain('it is not JSON');
  });

  it('shows the files of other machines, to be changed there', async () => {
    const runner = examples<{ runners: object[] }>('bodies/listRunners.response')[0]?.runners[0];
    const rules = [{ id: 'm1', effect: 'allow', tool: '*', command: 'make test' }];
    await open((server) =>
      server.on('listRunners', {
        success: true,
        runners: [
          { ...runner, policy: { policy: { version: 1, rules } } },
          {
            ...runner,
            runner_id: '0199f3a0-7c1e-7b4a-9d20-000000000009',
            policy: { problem: 'it is not JSON' },
          },
        ],
      }),
    );
    const text = panel('Policy').textContent;
    expect(text).toContain('They cannot be changed from here: use countersign policy on that machine.');
    expect(text).toContain('Allow * make test');
    expect(text).toContain('it is not JSON');
  });

  it('says when it could not be read', async () => {
    await open((server) => {
      const refuse = () => {
        throw new Refused(500, 'INTERNAL');
      };
      server.on('getPolicy', refuse);
      server.on('listGrants', refuse);
    });
    expect(screen.getAllByRole('alert')).toHaveLength(2);
    for (const button of screen.getAllByRole('button', { name: 'Try again' })) await userEvent.click(button);
  });
});

it('[RK-5] a rule that was tried is saved beside those there are by then', async () => {
  const { server } = await open((one) =>
    one.on('backtestPolicy', {
      ...{ success: true, considered: 3, matched: 1, would_change: 1, examples: [] },
      ...{ approved_before: 1, rejected_before: 0 },
    }),
  );
  const rule = { id: 'tests', effect: 'allow', tool: 'execute_command', command: 'npm test *' };
  expect(screen.queryByRole('button', { name: 'Save this rule' })).toBeNull();
  await userEvent.click(screen.getByRole('button', { name: 'Test it' }));
  await settle();
  const later = { version: 1, rules: [...policy.rules, { id: 'r3', effect: 'ask', tool: 'git_push' }] };
  server.on('getPolicy', { success: true, policy: later });
  server.on('putPolicy', { success: true, policy: { ...later, rules: [...later.rules, rule] } });
  await userEvent.click(screen.getByRole('button', { name: 'Save this rule' }));
  await settle();
  expect(server.bodiesOf('putPolicy')).toEqual([
    { ...later, rules: [...later.rules, rule], replaces: later },
  ]);
  expect(panel('Policy').textContent).toContain('npm test *');
});

describe('[RK-5] the backtest', () => {
  it('says what a rule would have decided', async () => {
    const { server } = await open((one) =>
      one.on('backtestPolicy', {
        success: true,
        considered: 300,
        matched: 212,
        would_change: 9,
        approved_before: 200,
        rejected_before: 2,
        examples: [
          {
            tool_id: 't1',
            description: 'Agent wants to run npm test',
            before: 'asks (MEDIUM)',
            after: 'runs without asking',
          },
        ],
      }),
    );
    await userEvent.click(screen.getByRole('button', { name: 'Test it' }));
    await settle();
    const text = panel('Backtest').textContent ?? '';
    expect(text).toContain('Of 300 calls, it covers 212 and changes the outcome of 9.');
    expect(text).toContain('You approved 200 of them and rejected 2.');
    expect(text).toContain('before: asks (MEDIUM) → with the rule: runs without asking');
    expect(server.bodiesOf('backtestPolicy')).toMatchObject([
      { rule: { tool: 'execute_command', command: 'npm test *' } },
    ]);
  });

  it('says what is wrong with the rule', async () => {
    await open((server) =>
      server.on('backtestPolicy', () => {
        throw new Refused(400, 'POLICY_INVALID');
      }),
    );
    const field = screen.getByLabelText('Rule to test');
    for (const wrong of ['{', '{"id": 1}']) {
      fireEvent.change(field, { target: { value: wrong } });
      expect(screen.getByRole('button', { name: 'Test it' })).toHaveProperty('disabled', true);
    }
    fireEvent.change(field, { target: { value: '{"id":"x","effect":"allow","tool":"*"}' } });
    await userEvent.click(screen.getByRole('button', { name: 'Test it' }));
    await settle();
    expect(screen.getByRole('alert').textContent).toContain('refused: POLICY_INVALID');
  });
});
