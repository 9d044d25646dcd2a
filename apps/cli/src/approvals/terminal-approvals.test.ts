import type { ApprovalsServer } from '@countersign/approvals';
import { ApiError, type ApprovalDecision, type DecisionOutcome } from '@countersign/client';
import type {
  Approval,
  CountersignEvent,
  OfferedScope,
  Preview,
  RequestBody,
  Trial,
} from '@countersign/protocol';
import { ManualClock, settle } from '@countersign/testing';
import { describe, expect, it } from 'vitest';
import { KeyDecoder } from '../screen/keys.ts';
import { wordsFor } from '../words.ts';
import { approval, digestOf } from './approval-fixture.test-data.ts';
import { type CurrentConversation, TerminalApprovals } from './terminal-approvals.ts';

const timestamp = '2026-11-15T12:00:00Z';
const requested = (over: Partial<Approval> = {}): CountersignEvent => {
  const { status: _, created_at: __, ...data } = approval(over);
  return { event: 'tool.approval_request', data: { ...data, timestamp } };
};
const updated = (over: Partial<Approval>): CountersignEvent => {
  const {
    status: _,
    created_at: __,
    tool_call_id: ___,
    agent: ____,
    tool_name: _____,
    context: ______,
    ...data
  } = approval(over);
  return { event: 'approval.updated', data: { ...data, timestamp } };
};
const resolved = (
  approval_id: string,
  status: 'approved' | 'timeout',
  device: string | null,
): CountersignEvent => ({
  event: 'approval.resolved',
  data: {
    approval_id,
    tool_id: 't',
    project_id: 'p',
    session_id: 's',
    status,
    approved_by: null,
    grant_id: null,
    device,
    reason: null,
    message: null,
    timestamp,
  },
});

interface SetUp {
  readonly edit?: (text: string) => Promise<string>;
  readonly decide?: (decision: ApprovalDecision) => Promise<DecisionOutcome>;
  readonly fetch?: (id: string) => Promise<Approval>;
  readonly runners?: Awaited<ReturnType<ApprovalsServer['runners']>>;
  readonly backtest?: () => Promise<never>;
  readonly conversation?: CurrentConversation;
  readonly tryFirst?: ApprovalsServer['tryFirst'];
}

/** Cards that are drawn whenever they ask to be, as on a screen. */
function setUp({ edit, decide, fetch, runners = [], backtest, conversation, tryFirst }: SetUp = {}) {
  const clock = new ManualClock();
  const decisions: ApprovalDecision[] = [];
  const rules: RequestBody<'backtestPolicy'>['rule'][] = [];
  const said: string[] = [];
  let screen = '';
  const draw = () => {
    screen = cards.lines(80, 40).join('\n');
  };
  const recorded = async ({ params }: ApprovalDecision): Promise<DecisionOutcome> => ({
    outcome: 'recorded',
    response: { success: true, approval_id: params.approval_id, status: 'approved' },
  });
  const cards: TerminalApprovals = new TerminalApprovals({
    clock,
    words: wordsFor({}),
    color: false,
    device: 'terminal',
    server: {
      decide: (decision) => {
        decisions.push(decision);
        return (decide ?? recorded)(decision);
      },
      fetch: fetch ?? (async () => approval()),
      list: async () => [],
      runners: async () => runners,
      tryFirst: tryFirst ?? (async () => {}),
    },
    backtest: async (body) => {
      rules.push(body.rule);
      if (backtest) return backtest();
      return {
        success: true,
        considered: 40,
        matched: 12,
        would_change: 12,
        approved_before: 10,
        rejected_before: 2,
        examples: [],
      };
    },
    edit,
    ...(conversation && { conversation }),
    onChange: () => draw(),
    say: (lines) => said.push(...lines),
  });
  const press = (keys: string) => {
    for (const key of new KeyDecoder().push(Buffer.from(keys))) cards.press(key);
  };
  /** Waits until the card may be answered, then presses. */
  const answer = async (...keys: string[]) => {
    for (const key of keys) {
      await clock.advance(500);
      press(key);
      await settle();
    }
  };
  return { clock, cards, decisions, rules, said, press, answer, screen: () => screen };
}

const bodies = (decisions: readonly ApprovalDecision[]) =>
  decisions.map(({ decision, params: { approval_id }, body }) => ({ decision, approval_id, ...body }));
const device = 'terminal';
/** The digest of the card with this `digest_base`. */
const shown = (letter: string) => approval({ digest: digestOf(letter) }).digest;

it('[UI-6] a card keeps the focus while its newer version is fetched, and typed words decide no other card', async () => {
  let deliver: (whole: Approval) => void = () => {};
  const { cards, answer, press, decisions, screen } = setUp({
    fetch: () =>
      new Promise((resolve) => {
        deliver = resolve;
      }),
  });
  cards.receive(requested({ preview: null, digest: null }));
  cards.receive(requested({ approval_id: 'approval-2', description: 'Agent wants to delete everything' }));
  await answer('n');
  press('too much, ');
  cards.receive(updated({ preview: null, omitted: ['preview'] } as Partial<Approval>));
  await answer('w', 'h', 'y', '?', '\r');
  expect(decisions).toEqual([]);
  expect(screen()).toContain('too much, why?');
  deliver(approval());
  await settle();
  await answer('\r');
  expect(bodies(decisions)).toMatchObject([{ decision: 'rejected', approval_id: 'approval-1' }]);
});

describe('a card in focus', () => {
  it('[AP-8] approves with y, naming the digest that was displayed', async () => {
    const { cards, answer, decisions, said, screen } = setUp();
    cards.receive(requested());
    expect(screen()).toContain('y approve   n reject   a wider   e edit   ? help');
    await answer('y');
    expect(bodies(decisions)).toEqual([
      { decision: 'approved', approval_id: 'approval-1', digest: shown('a'), device },
    ]);
    expect(said).toEqual(['✓ Agent wants to change config.json · approved here']);
    expect(cards.lines(80, 40)).toEqual([]);
    expect(cards.press({ name: 'y', text: 'y', together: false })).toBe(false);
  });

  it('[UI-6] takes no key before it has been shown for half a second', async () => {
    const { clock, cards, decisions, press } = setUp();
    cards.receive(requested());
    press('y');
    await clock.advance(499);
    press('y');
    expect(decisions).toEqual([]);
    await clock.advance(1);
    press('y');
    expect(decisions).toHaveLength(1);
  });

  it('[UI-6] takes no key that was typed ahead or pasted', async () => {
    const { clock, cards, decisions, press } = setUp();
    cards.receive(requested());
    await clock.advance(1_000);
    press('yy');
    press('\u001b[200~y\u001b[201~');
    expect(decisions).toEqual([]);
  });

  it('[UI-6] keeps the focus when another card comes, and the next one has its own half second', async () => {
    const { clock, cards, decisions, press, screen, answer } = setUp();
    cards.receive(requested());
    await clock.advance(1_000);
    cards.receive(requested({ approval_id: 'approval-2', description: 'Agent wants to delete everything' }));
    expect(screen()).toContain('Agent wants to change config.json');
    expect(screen()).toContain('1 more waits · l list');
    press('y');
    await settle();
    expect(screen()).toContain('Agent wants to delete everything');
    press('y');
    expect(bodies(decisions).map(({ approval_id }) => approval_id)).toEqual(['approval-1']);
    await answer('y');
    expect(bodies(decisions).map(({ approval_id }) => approval_id)).toEqual(['approval-1', 'approval-2']);
  });

  it('[AP-8] shows no preview that does not match its digest, and offers only rejecting', async () => {
    const { cards, answer, decisions, screen } = setUp();
    const request = requested();
    const preview = { kind: 'summary', summary: 'Nothing.' } as const;
    cards.receive({ ...request, data: { ...request.data, preview } } as CountersignEvent);
    expect(screen()).not.toContain('Nothing.');
    expect(screen()).toContain('does not fit its digest');
    await answer('y');
    expect(decisions).toEqual([]);
    expect(screen()).toContain('this call can only be rejected');
  });

  it('[UI-6] restarts the half second when the visible card changes', async () => {
    const { clock, cards, decisions, press, screen } = setUp();
    cards.receive(requested());
    await clock.advance(1_000);
    cards.receive(updated({ revision: 2, digest: digestOf('b') }));
    expect(screen()).toContain('It was changed; look at it anew.');
    press('y');
    expect(decisions).toEqual([]);
    await clock.advance(500);
    press('y');
    expect(bodies(decisions)).toEqual([
      { decision: 'approved', approval_id: 'approval-1', digest: shown('b'), device },
    ]);
  });

  it('[AP-2] is withdrawn at once when somebody else decides, or the time is over', async () => {
    const { cards, said, decisions } = setUp();
    cards.receive(requested());
    cards.receive(requested({ approval_id: 'approval-2' }));
    cards.receive(resolved('approval-1', 'approved', 'phone'));
    cards.receive(resolved('approval-2', 'timeout', null));
    cards.receive(resolved('approval-3', 'timeout', null));
    expect(said).toEqual([
      '✓ Agent wants to change config.json · approved on phone',
      '– Agent wants to change config.json · expired: nobody decided in time',
    ]);
    expect([cards.count, decisions]).toEqual([0, []]);
  });

  it('[AP-3] counts down by itself and decides nothing when the time is over or it is disposed of', async () => {
    const { clock, cards, screen, decisions } = setUp();
    cards.receive(requested({ remaining_ms: 3_000 }));
    expect(screen()).toContain('0:03 left');
    await clock.advance(2_000);
    expect(screen()).toContain('0:01 left');
    await clock.advance(5_000);
    expect(screen()).toContain('time is over');
    cards.dispose();
    cards.dispose();
    expect(decisions).toEqual([]);
  });
});

describe('the second step', () => {
  it('[RK-1] asks a second time for HIGH, and not within half a second', async () => {
    const { cards, answer, press, decisions, screen } = setUp();
    cards.receive(requested({ risk_level: 'HIGH' }));
    await answer('y');
    expect(screen()).toContain('HIGH risk. Look again, then press y to approve.');
    press('y');
    expect(decisions).toEqual([]);
    await answer('x');
    expect(screen()).toContain('y approve');
    await answer('y', 'y');
    expect(decisions).toHaveLength(1);
  });

  it('[AP-7] does not approve HIGH without its preview', async () => {
    const { cards, answer, decisions, screen } = setUp();
    cards.receive(requested({ risk_level: 'HIGH', preview: null, digest: null }));
    await answer('y', 'y');
    expect(screen()).toContain('approved once its preview is here');
    expect(decisions).toEqual([]);
  });

  it('asks a second time to approve a call without a preview', async () => {
    const { cards, answer, decisions, screen } = setUp();
    cards.receive(requested({ preview: null, digest: null }));
    expect(screen()).toContain('countersign connect');
    await answer('y');
    expect(screen()).toContain('approve it unseen');
    await answer('y');
    expect(bodies(decisions)).toEqual([{ decision: 'approved', approval_id: 'approval-1', device }]);
  });
});

it('[AP-7] a card whose preview is being made waits for it, also with a wider approval', async () => {
  const runner = {
    runner_id: 'r',
    project_id: approval().project_id,
    workspace: '/w',
    capabilities: ['preview'],
    connected: true,
    last_seen_at: timestamp,
  };
  const { cards, answer, decisions, screen } = setUp({ runners: [runner] });
  cards.receive(requested({ preview: null, digest: null, runner_id: null }));
  await settle();
  expect(screen()).toContain('The preview is being made');
  expect(screen()).not.toContain('countersign connect');
  await answer('y');
  expect(screen()).toContain('It can be approved once its preview is here');
  await answer('a', '1', 'y');
  expect(screen()).toContain('It can be approved once its preview is here');
  expect(decisions).toEqual([]);
  cards.receive(updated({}));
  await answer('y');
  expect(decisions).toHaveLength(1);
});

it('[RK-1] asks again if the preview raises the risk to HIGH during the second step', async () => {
  const { cards, answer, decisions, screen } = setUp();
  cards.receive(requested({ preview: null, digest: null }));
  await answer('y');
  cards.receive(updated({ risk_level: 'HIGH' }));
  await answer('y');
  expect(screen()).toContain('HIGH risk. Look again');
  expect(decisions).toEqual([]);
});

describe('rejecting', () => {
  it('[AP-5] sends the words for the agent', async () => {
    const { cards, answer, press, decisions, screen } = setUp();
    cards.receive(requested());
    await answer('n');
    await answer('\u001b[200~use a\nport\u001b[201~');
    press('!');
    expect(screen()).toContain('Reject. For the agent: use a port!▏');
    press('\r');
    expect(bodies(decisions)).toEqual([
      { decision: 'rejected', approval_id: 'approval-1', message: 'use a port!', device },
    ]);
  });

  it('needs no words, and goes back with Esc', async () => {
    const { cards, answer, decisions } = setUp();
    cards.receive(requested());
    await answer('n', '\u001b', 'n', '\r');
    expect(bodies(decisions)).toEqual([{ decision: 'rejected', approval_id: 'approval-1', device }]);
  });
});

describe('approving more than one', () => {
  it('[AP-4] shows what it means and what it would have done, then sends scope and pattern', async () => {
    const { cards, answer, decisions, rules, screen } = setUp({
      decide: async ({ params }) => ({
        outcome: 'recorded',
        response: { success: true, approval_id: params.approval_id, status: 'approved', grant_id: 'grant-1' },
      }),
    });
    cards.receive(requested());
    await answer('a');
    expect(screen()).toContain(
      '1  Changes under src/ in this conversation\n│ 2  Whole conversation: every tool',
    );
    await answer('1');
    expect(screen()).toContain('It would have covered 12 of your last 40 calls: you approved 10 of them');
    await answer('y');
    expect(rules).toEqual([
      {
        id: 'to-be-granted',
        effect: 'allow',
        tool: '{write_file,edit_file,create_directory,copy_file}',
        path: 'src/**',
        max_risk: 'MEDIUM',
      },
    ]);
    expect(bodies(decisions)).toMatchObject([{ scope: 'class', pattern: 'src/**', digest: shown('a') }]);
  });

  it('[AP-4] covers HIGH only when that is said, with a warning', async () => {
    const { cards, answer, decisions, rules, screen } = setUp();
    cards.receive(requested());
    await answer('a', '2', 'h');
    expect(screen()).toContain('You are not asked again.');
    expect(screen()).toContain('[x] h  HIGH calls too\n│ HIGH calls will run without a second look.');
    await answer('y');
    expect(rules.map(({ tool, max_risk }) => [tool, max_risk])).toEqual([
      ['*', 'MEDIUM'],
      ['*', 'HIGH'],
    ]);
    expect(bodies(decisions)).toMatchObject([{ scope: 'session', include_high: true }]);
  });

  it('offers command patterns for commands, reports a saved rule, and can go back', async () => {
    const { cards, answer, rules, said } = setUp({
      decide: async ({ params }) => ({
        outcome: 'recorded',
        response: { success: true, approval_id: params.approval_id, status: 'approved', rule_id: 'rule-1' },
      }),
    });
    const always: OfferedScope = {
      scope: 'always',
      pattern: 'npm *',
      label: 'Always: npm',
      warning: null,
      max_risk: 'MEDIUM',
      rules: [
        {
          id: 'to-be-granted',
          effect: 'allow',
          tool: 'execute_command',
          command: 'npm *',
          max_risk: 'MEDIUM',
        },
      ],
    };
    cards.receive(requested({ tool_name: 'execute_command', offered_scopes: [always] }));
    await answer('a', '9', 'a', '1', '\u001b', 'a', '2', 'y');
    expect(rules[0]).toMatchObject({ tool: 'execute_command', command: 'npm *' });
    expect(said).toEqual([
      '✓ Agent wants to change config.json · approved here · saved in your policy as rule-1',
    ]);
  });

  it('says that no wider approval is offered, or that the history cannot be read', async () => {
    const failing = setUp({ backtest: async () => Promise.reject(new Error('down')) });
    failing.cards.receive(requested());
    await failing.answer('a', '1');
    expect(failing.screen()).toContain('Your history could not be looked at: down');
    const none = setUp();
    none.cards.receive(requested({ offered_scopes: [] }));
    await none.answer('a');
    expect(none.screen()).toContain('only be approved one at a time');
  });
});

describe('editing', () => {
  const edited = '{"path": "config.json", "content": "{\\"port\\": 9090}\\n"}';

  it('[AP-6] shows the change and approves with it', async () => {
    let given = '';
    const { cards, answer, decisions, screen } = setUp({
      edit: async (text) => {
        given = text;
        return edited;
      },
    });
    cards.receive(requested());
    await answer('e');
    expect(JSON.parse(given)).toEqual(approval().tool_params);
    expect(screen()).toContain('Your change:\n│ content\n│ - {"port": 8080}\n│ + {"port": 9090}');
    await answer('y');
    expect(bodies(decisions)).toMatchObject([
      { decision: 'approved', digest: shown('a'), tool_params: JSON.parse(edited) },
    ]);
  });

  it('keeps text that is not valid JSON, reports if nothing changed or the editor failed, and can be continued', async () => {
    const given: string[] = [];
    const answers = ['{broken', '[1]', JSON.stringify(approval().tool_params), edited, edited];
    const { cards, answer, screen, decisions } = setUp({
      edit: async (text) => {
        given.push(text);
        const next = answers.shift();
        if (next === undefined) throw new Error('no editor');
        return next;
      },
    });
    cards.receive(requested());
    await answer('e');
    expect(screen()).toContain('That is not a JSON object');
    await answer('e');
    expect(given[1]).toBe('{broken');
    expect(screen()).toContain('it is not an object');
    await answer('e');
    expect(screen()).toContain('Nothing was changed.');
    await answer('e', 'e', '\u001b');
    expect(given[4]).toBe(edited);
    await answer('e');
    expect(screen()).toContain('The editor did not work: no editor');
    expect(decisions).toEqual([]);
  });

  it('offers a line to edit in if no editor is set', async () => {
    const { cards, answer, press, decisions, screen } = setUp();
    cards.receive(requested({ tool_params: { path: 'a.md' } }));
    await answer('e');
    expect(screen()).toContain('Parameters as JSON: {"path":"a.md"}▏');
    for (const key of ['\u001b[D', '\u001b[D', '\u007f', 'x']) press(key);
    await answer('\r', 'y');
    expect(bodies(decisions)).toMatchObject([{ tool_params: { path: 'a.mx' } }]);
    cards.receive(requested({ approval_id: 'approval-2' }));
    await answer('e', '\u001b', 'e', '{', '\r', 'e');
    expect(decisions).toHaveLength(1);
  });

  it('forgets the change when the card goes away meanwhile', async () => {
    let finish: (text: string) => void = () => {};
    const { cards, answer, decisions, screen } = setUp({
      edit: () =>
        new Promise((resolve) => {
          finish = resolve;
        }),
    });
    cards.receive(requested());
    await answer('e');
    cards.receive(resolved('approval-1', 'approved', 'phone'));
    cards.receive(requested({ approval_id: 'approval-2' }));
    finish(edited);
    await answer('x');
    expect(screen()).not.toContain('Your change');
    expect(decisions).toEqual([]);
  });
});

describe('what the server answers', () => {
  it('shows a refusal, asks for the newest version, and can be tried again', async () => {
    let tries = 0;
    const { cards, answer, decisions, screen } = setUp({
      decide: async ({ params }) => {
        tries += 1;
        if (tries === 1) throw new ApiError(409, 'PREVIEW_CHANGED', 'The preview has changed.');
        return {
          outcome: 'recorded',
          response: { success: true, approval_id: params.approval_id, status: 'approved' },
        };
      },
      fetch: async () => approval({ digest: digestOf('c') }),
    });
    cards.receive(requested());
    await answer('y');
    expect(screen()).toContain('The preview has changed.');
    await answer('y');
    expect(bodies(decisions)).toMatchObject([{ digest: shown('a') }, { digest: shown('c') }]);
  });

  it('[AP-2] tells the decision that stands when it came too late', async () => {
    const { cards, answer, said } = setUp({
      decide: async () => ({ outcome: 'overruled', standing: { status: 'rejected', device: 'phone' } }),
    });
    cards.receive(requested());
    await answer('y');
    expect(said).toEqual(['✗ Agent wants to change config.json · rejected on phone']);
  });

  it('says it once when the event comes before the answer', async () => {
    const { cards, answer, said } = setUp({
      decide: async ({ params }) => {
        cards.receive(resolved('approval-1', 'approved', 'terminal'));
        return {
          outcome: 'recorded',
          response: { success: true, approval_id: params.approval_id, status: 'approved' },
        };
      },
    });
    cards.receive(requested());
    await answer('y');
    expect(said).toEqual(['✓ Agent wants to change config.json · approved here']);
  });

  it('[EV-2] fetches what an event left out, and shows nothing before', async () => {
    const { cards, screen } = setUp();
    cards.receive(requested({ omitted: ['preview'], preview: null }));
    expect(cards.count).toBe(0);
    await settle();
    expect(screen()).toContain('+ {"port": 8080}');
  });

  it('does not restore a request that was settled while it was fetched, and reports if fetching fails', async () => {
    let answerFetch: (approval: Approval) => void = () => {};
    const { cards } = setUp({
      fetch: () =>
        new Promise((resolve) => {
          answerFetch = resolve;
        }),
    });
    cards.receive(updated({ approval_id: 'approval-1' })); // never seen before
    cards.receive(resolved('approval-1', 'timeout', null));
    answerFetch(approval());
    await settle();
    expect(cards.count).toBe(0);
    const failing = setUp({ fetch: async () => Promise.reject(new Error('gone')) });
    failing.cards.receive(requested({ approval_id: 'approval-2' }));
    failing.cards.receive(updated({ approval_id: 'approval-9' }));
    await settle();
    expect(failing.screen()).toContain('gone');
  });

  it('[AP-10] takes the whole list after a reset', async () => {
    const { cards, screen } = setUp();
    cards.receive(requested());
    cards.replace([approval({ approval_id: 'approval-2', description: 'Agent wants to go on' })]);
    expect(cards.count).toBe(1);
    expect(screen()).toContain('Agent wants to go on');
  });
});

describe('looking around', () => {
  it('lists what waits, and shows the one that is chosen', async () => {
    const { cards, answer, screen } = setUp();
    for (const n of [1, 2, 3])
      cards.receive(requested({ approval_id: `approval-${n}`, description: `Wish ${n}` }));
    await answer('l');
    expect(screen()).toMatch(/Waiting for you\n│ › MEDIUM {2}Wish 1 .*\n│ {3}MEDIUM {2}Wish 2/);
    await answer('j', 'j', 'j', 'k');
    expect(screen()).toContain('› MEDIUM  Wish 2');
    await answer('\r');
    expect(screen()).toContain('│ Wish 2\n');
    expect(screen()).toContain('2 more wait');
    await answer('l', '\u001b');
    expect(screen()).toContain('│ Wish 2\n');
  });

  it('scrolls a long preview, prints all of it above, and helps', async () => {
    const head = Array.from({ length: 100 }, (_, i) => `line ${i}`).join('\n');
    const { cards, answer, screen, said } = setUp();
    cards.receive(requested({ preview: { kind: 'delete', path: 'a', size: 1, head } }));
    expect(screen()).not.toContain('line 99');
    await answer('\u001b[B', ' ', '\u001b[F');
    expect(screen()).toContain('line 99');
    await answer('b', '\u001b[A', '\u001b[H');
    expect(screen()).toContain('- line 0');
    await answer('v');
    expect(said.join('\n')).toContain('- line 99');
    await answer('?');
    expect(screen()).toContain('A key counts once the card has been here for half a second.');
    await answer('?', '\u001b');
    expect(screen()).not.toContain('A key counts');
    expect(cards.press({ name: 'ctrl-c', text: '', together: false })).toBe(false);
  });
});

describe('[RN-13] trying a command first', () => {
  const command = (trial?: Trial): Partial<Approval> => ({
    tool_name: 'execute_command',
    tool_params: { command: 'make' },
    description: 'Agent wants to run make',
    preview: {
      kind: 'command',
      commands: [['make']],
      cwd: '.',
      network: false,
      reversible: true,
      scripts: [],
      ...(trial && { trial }),
    },
  });
  const outcome = {
    ended: 'exit',
    exit_code: 0,
    duration_ms: 1_200,
    stdout: 'built',
    stderr: '',
    files: [
      { path: 'old.txt', change: 'deleted', size: 3 },
      {
        path: 'new.txt',
        change: 'created',
        size: 4,
        diff: '--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+made\n',
      },
    ],
    counts: { created: 1, modified: 0, deleted: 1, mode: 0 },
    withheld: ['.git/hooks/x'],
    left_out: [],
    hosts: [],
  } satisfies Trial;
  const runners = [
    {
      runner_id: 'runner-1',
      project_id: 'project-1',
      connected: true,
      capabilities: ['preview', 'trials'],
    } as never,
  ];

  it('asks with t, counts the seconds, and approves what came of it', async () => {
    const asked: unknown[] = [];
    const { cards, clock, answer, decisions, screen } = setUp({
      runners,
      tryFirst: async (params) => asked.push(params),
    });
    cards.receive(requested(command()));
    await settle();
    expect(screen()).toContain('t try it first');
    await answer('t');
    expect(asked).toEqual([{ project_id: 'project-1', approval_id: 'approval-1' }]);
    cards.receive(updated({ ...command(), trying: true }));
    await clock.advance(3_000);
    expect(screen()).toMatch(/Trying it.* [2-4] s/);
    expect(screen()).not.toMatch(/y approve|t try/);
    await answer('y');
    expect(screen()).toContain('It can be approved once the trial has ended.');
    expect(decisions).toEqual([]);
    cards.receive(updated({ ...command(outcome), revision: 2 }));
    expect(screen()).toMatch(/1 created, 1 deleted · exit 0 · 1\.2 s/);
    expect(screen()).toMatch(/\.git\/hooks\/x[\s\S]*old\.txt[\s\S]*new\.txt[\s\S]*\+ made[\s\S]*built/);
    expect(screen()).not.toMatch(/Trying it|It was changed/);
    await answer('y');
    const { digest } = approval(command(outcome));
    expect(bodies(decisions)).toMatchObject([{ decision: 'approved', digest }]);
    expect(digest).not.toBe(approval(command()).digest);
  });

  it('offers it only where the runner can, and says why it was refused', async () => {
    const message =
      'This call cannot be tried first: only commands can be tried. Decide on it as it is shown.';
    const { cards, answer, screen } = setUp({
      tryFirst: () => Promise.reject(new ApiError(409, 'NOT_TRYABLE', message)),
      fetch: async () => approval(command()),
    });
    cards.receive(requested(command()));
    await settle();
    expect(screen()).not.toContain('try it first');
    await answer('t');
    expect(screen().replaceAll(/\n│ /g, ' ')).toContain('only commands can be tried');
    expect(screen()).toContain('y approve');
  });

  it('[UI-4] lays out a trial of 50,000 effects once, not for each key', async () => {
    const diff = `--- /dev/null\n+++ b/f\n@@ -0,0 +1,100 @@\n${'+a line\n'.repeat(100)}`;
    const files = Array.from({ length: 1_000 }, (_, n) => ({
      path: `f${n}`,
      change: 'created' as const,
      diff,
    }));
    const { cards, answer, screen } = setUp();
    const counts = { created: 50_000, modified: 0, deleted: 0, mode: 0 };
    let reads = 0;
    const card = command({ ...outcome, counts, files });
    const event = requested(card);
    const { preview } = event.data as { preview: Extract<Preview, { kind: 'command' }> };
    const { trial } = preview;
    Object.defineProperty(preview, 'trial', {
      enumerable: true,
      get: () => {
        reads += 1;
        return trial;
      },
    });
    cards.receive(event);
    await answer(' ');
    const before = reads;
    await answer('j', 'j', ' ', '\u001b[F');
    expect(screen()).toContain('49000 more changes');
    // Each draw asks once whether the card shows a trial; reading its effects would take thousands.
    expect(reads - before).toBeLessThan(100);
  });
});

describe('beside a conversation', () => {
  const places = { session: 'session-1', others: false };
  const noted: string[] = [];
  const conversation: CurrentConversation = {
    isOwn: ({ session_id }) => session_id === places.session,
    showsOthers: () => places.others,
    titleOf: () => 'Tidy up',
    onApproved: (_toolId, decided) => void noted.push(decided),
  };
  const request = (approval_id: string, session_id: string, path: string) =>
    requested({ approval_id, session_id, description: `Agent wants to change ${path}` });

  it('shows its own cards first, and those of others with their name when they are asked for', async () => {
    places.others = false;
    const { cards, answer, screen, said, decisions } = setUp({ conversation });
    cards.receive(request('other', 'session-2', 'theirs.md'));
    expect([cards.count, cards.otherCount, screen()]).toEqual([1, 1, '']);
    cards.receive(request('own', 'session-1', 'mine.md'));
    expect(screen()).toContain('mine.md');
    expect(screen()).not.toMatch(/theirs|In another conversation/);
    places.others = true;
    await answer('l');
    expect(screen()).toMatch(/mine\.md.*\n.* {2}Tidy up: Agent wants to change theirs\.md/);
    await answer('q', 'y');
    expect(screen()).toMatch(/In another conversation: Tidy up\n.*wants to change theirs\.md/);
    await answer('y');
    expect(bodies(decisions).map(({ approval_id }) => approval_id)).toEqual(['own', 'other']);
    // An approval in the current conversation is shown with the call's result, so it prints nothing here.
    expect(noted).toEqual(['approved here']);
    expect(said).toEqual(['✓ Tidy up: Agent wants to change theirs.md · approved here']);
  });

  it('[UI-6] a card of its own does not take the place of another that is being looked at', async () => {
    places.others = true;
    const { cards, screen } = setUp({ conversation });
    cards.receive(request('other', 'session-2', 'theirs.md'));
    cards.receive(request('own', 'session-1', 'mine.md'));
    expect(screen()).toContain('theirs.md');
  });

  it('names the conversation of what was decided elsewhere', () => {
    places.others = false;
    const { cards, said } = setUp({ conversation });
    cards.receive(request('other', 'session-2', 'theirs.md'));
    cards.receive(resolved('other', 'timeout', null));
    expect(said).toEqual(['– Tidy up: Agent wants to change theirs.md · expired: nobody decided in time']);
  });
});
