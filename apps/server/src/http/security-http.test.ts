import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { newId } from '@countersign/engine';
import { securityFolder } from '@countersign/testing';
import { exportJWK, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type RawAnswer, sendRaw } from '../testing/raw-request.ts';
import type { ScriptedRunner } from '../testing/scripted-runner.ts';
import { type Person, signToken, TestServer } from '../testing/test-server.ts';

interface Step {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string | string[]>;
  readonly body?: Record<string, unknown>;
  readonly raw_body?: string;
  readonly body_gen?: Record<string, { repeat: string; count: number }>;
}

interface HttpCase {
  readonly id: string;
  readonly class: string;
  readonly expect: string;
  readonly why: string;
  readonly input: Step & {
    readonly steps?: readonly Step[];
    readonly status: readonly (number | string)[];
    readonly drip?: { part: string; bytes: number; every_ms: number };
    readonly assert?: Record<string, unknown>;
  };
}

const cases = readFileSync(new URL('http.jsonl', securityFolder), 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as HttpCase);

/** Every part of an input, and every assertion, so that a new one is not passed over in silence. */
const knownParts = [
  'method',
  'path',
  'headers',
  'body',
  'raw_body',
  'body_gen',
  'steps',
  'drip',
  'max_seconds',
  'status',
  'assert',
];
const knownAsserts = [
  'must_not_contain',
  'must_not_match',
  'stored_owner',
  'stored_role',
  'executions',
  'executed_equals_previewed',
  'executions_without_approval',
  'approvals_created',
  'no_5xx',
  'header_absent_or_not',
];

const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const publicPem = publicKey.export({ type: 'spki', format: 'pem' }).toString();

let issuer: Server;
let server: TestServer;
let ada: Person;
let bob: Person;
let runner: ScriptedRunner;
let others: { toolId: string; approvalId: string };
let own: { toolId: string };

/** A HIGH call that waits for its decision, with its preview. */
async function pendingHighCall(person: Person): Promise<{ toolId: string; approvalId: string }> {
  const { body } = await server.send('POST', '/my/tools/execute', {
    token: person.tokens.person,
    body: {
      tool_name: 'delete_file',
      tool_params: { path: `src/${newId()}.ts` },
      session_id: await newSession(person),
    },
  });
  return { toolId: body.tool_id, approvalId: body.approval_id };
}

/** A session of its own for each call: only so many may wait in one (AG-3). */
async function newSession({ projectId, tokens }: Person): Promise<string> {
  const path = `/my/projects/${projectId}/sessions`;
  return (await server.send('POST', path, { token: tokens.person, body: {} })).body.session.session_id;
}

async function previewed(approvalId: string): Promise<void> {
  await runner.stream.until(
    ({ event, data }) =>
      event === 'approval.updated' && (data as { approval_id: string }).approval_id === approvalId,
  );
}

beforeAll(async () => {
  const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'key-1', alg: 'RS256', use: 'sig' }] };
  issuer = createServer((_request, response) => response.end(JSON.stringify(keys))).listen(0, '127.0.0.1');
  await new Promise((resolve) => issuer.once('listening', resolve));
  const authIssuer = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`;
  server = await TestServer.start({
    headersTimeoutSeconds: 2,
    authIssuer,
    authAudience: 'countersign',
    executeWaitMs: 2_000,
  });
  ada = await server.person('ada');
  bob = await server.person('bob');
  runner = await server.runner(ada);
  others = await pendingHighCall(bob);
  const { body } = await server.send('POST', '/my/tools/execute', {
    token: ada.tokens.person,
    body: { tool_name: 'read_file', tool_params: { path: 'a.md' } },
  });
  own = { toolId: body.tool_id };
});

afterAll(async () => {
  await server.close();
  issuer.close();
});

describe.each(cases)('[VA-9] $id $class: $why', (testCase) => {
  const { input } = testCase;
  let fresh: { toolId: string; approvalId: string };
  let executedBefore: number;

  beforeEach(async () => {
    fresh = await pendingHighCall(ada);
    await previewed(fresh.approvalId);
    executedBefore = runner.executed.length;
  });

  it('is answered as it must be, and nothing else happens', async () => {
    expect(knownParts).toEqual(expect.arrayContaining(Object.keys(input)));
    expect(knownAsserts).toEqual(expect.arrayContaining(Object.keys(input.assert ?? {})));
    const values = await placeholders(fresh);
    const answers: RawAnswer[] = [];
    for (const step of input.steps ?? [input]) answers.push(await send(step, values));
    const last = answers.at(-1) as RawAnswer;

    expect(
      input.status.some((wanted) => fits(last.status, wanted)),
      `answered ${last.status} ${last.text}`,
    ).toBe(true);
    if (testCase.expect === 'ALLOW') expect(String(last.status)).toMatch(/^2/);
    if (last.status !== 'close' && last.status >= 400 && input.method !== 'OPTIONS') {
      expect(JSON.parse(last.text)).toMatchObject({
        success: false,
        error: expect.any(String),
        code: expect.any(String),
      });
    }
    await check(input.assert ?? {}, answers, values);
    expect((await server.send('GET', '/healthz')).status).toBe(200);
  });

  async function send(step: Step, values: Record<string, string>): Promise<RawAnswer> {
    const fill = (text: string) =>
      text
        .replace(/\{repeat:(.):(\d+)\}/g, (_all, char: string, count) => char.repeat(Number(count)))
        .replace(/\{(\w+)\}/g, (all, name: string) => values[name] ?? all);
    const headers = Object.fromEntries(
      Object.entries(step.headers).map(([name, value]) => [name, Array.isArray(value) ? value : fill(value)]),
    );
    const body = bodyOf(step, fill);
    return sendRaw(server.address, {
      method: step.method,
      path: fill(step.path),
      headers,
      ...(body && { body: body.parts, contentLength: body.length }),
      // Waits a sixteenth of the case's time between bytes, because this server's timeouts are a sixteenth too.
      ...(input.drip && { drip: { bytes: input.drip.bytes, everyMs: input.drip.every_ms / 16 } }),
    });
  }

  async function check(
    asserts: Record<string, unknown>,
    answers: RawAnswer[],
    values: Record<string, string>,
  ) {
    const text = answers.map((answer) => answer.text).join('\n');
    const calls = () => runner.executed.filter(({ tool_id }) => tool_id === fresh.toolId);
    for (const [name, wanted] of Object.entries(asserts)) {
      switch (name) {
        case 'must_not_contain':
          expect(text).not.toContain(values[String(wanted).slice(1, -1)]);
          break;
        case 'must_not_match':
          expect(text).not.toMatch(new RegExp(String(wanted)));
          break;
        case 'stored_owner':
        case 'stored_role': {
          const messages = await messagesOf(ada);
          expect(messages.every(({ user_id, role }) => user_id === 'ada' && role === 'user')).toBe(true);
          expect(await messagesOf(bob)).toEqual([]);
          break;
        }
        case 'executions':
          await runner.stream.until(isResultOf(fresh.toolId));
          expect(calls().length).toBe(wanted);
          break;
        case 'executed_equals_previewed': {
          expect(calls()).toEqual([]); // the smuggled arguments approved nothing
          const { body } = await server.send('GET', `/my/approvals/${fresh.approvalId}`, {
            token: ada.tokens.person,
          });
          await server.send('POST', `/my/approvals/${fresh.approvalId}/confirm`, {
            token: ada.tokens.person,
            body: {},
          });
          await runner.stream.until(isResultOf(fresh.toolId));
          expect(calls().map(({ tool_params }) => tool_params)).toEqual([body.approval.tool_params]);
          break;
        }
        case 'executions_without_approval':
          expect(runner.executed.length).toBe(executedBefore);
          break;
        case 'approvals_created': {
          const { body } = await server.send('GET', '/my/approvals', { token: ada.tokens.person });
          const { tool_id } = JSON.parse(text) as { tool_id: string };
          expect(
            body.approvals.filter((approval: { tool_id: string }) => approval.tool_id === tool_id).length,
          ).toBe(wanted);
          const { execution } = (
            await server.send('GET', `/my/tools/${tool_id}`, { token: ada.tokens.person })
          ).body;
          expect(execution).toMatchObject({ status: 'failed', approval_id: null });
          break;
        }
        case 'no_5xx':
          expect(answers.every(({ status }) => status === 'close' || status < 500)).toBe(true);
          break;
        case 'header_absent_or_not':
          expect(answers.map(({ head }) => head).join('\n')).not.toMatch(/access-control-allow-origin/i);
          break;
      }
    }
  }
});

async function messagesOf(person: Person) {
  return server.store.read(function* (tx) {
    const found = [];
    for (const { id } of yield* tx.sessionsOf(person.userId, person.projectId, 100)) {
      found.push(...(yield* tx.messagesOf(id, { limit: 100 })));
    }
    return found;
  });
}

const isResultOf =
  (toolId: string) =>
  ({ event, data }: { event: string; data: unknown }) =>
    event === 'tool.result' && (data as { tool_id: string }).tool_id === toolId;

const fits = (status: number | 'close', wanted: number | string): boolean =>
  typeof wanted === 'string' && wanted.endsWith('xx')
    ? status !== 'close' && String(status)[0] === wanted[0]
    : status === wanted;

/** The cases use neutral names; ours are tool_name, tool_params and result. */
function bodyOf(
  step: Step,
  fill: (text: string) => string,
): { parts: Iterable<string>; length: number } | undefined {
  if (step.raw_body !== undefined) {
    const length = Buffer.byteLength(step.raw_body);
    return { parts: [step.raw_body], length };
  }
  if (step.body_gen) {
    const [[name, { repeat, count }]] = Object.entries(step.body_gen) as [
      [string, { repeat: string; count: number }],
    ];
    const open = `{"${name}":"`;
    const chunk = repeat.repeat(65_536);
    const parts = function* () {
      yield open;
      for (let left = count; left > 0; left -= chunk.length)
        yield chunk.slice(0, Math.min(left, chunk.length));
      yield '"}';
    };
    return { parts: parts(), length: open.length + count + 2 };
  }
  if (!step.body) return undefined;
  const { tool, arguments: args, output, ...rest } = step.body;
  const mapped = {
    ...rest,
    ...(tool !== undefined && { tool_name: tool }),
    ...(args !== undefined && { tool_params: args }),
    ...(output !== undefined && { status: 'completed', result: output }),
  };
  // A key named __proto__ must survive our own mapping to reach the server.
  const text = fill(JSON.stringify(mapped));
  return { parts: [text], length: Buffer.byteLength(text) };
}

/** The values for the words in braces: ids of both people, and tokens named after what is wrong with them. */
async function placeholders(fresh: { toolId: string; approvalId: string }): Promise<Record<string, string>> {
  const jwt = await signToken('ada', 'person');
  const claims = () => new SignJWT({ scope: 'person' }).setSubject('ada').setExpirationTime('1h');
  return {
    user_id: 'ada',
    other_user_id: 'bob',
    project_id: ada.projectId,
    project_id_of_other_user: bob.projectId,
    approval_id: fresh.approvalId,
    approval_id_of_other_user: others.approvalId,
    tool_id: own.toolId,
    tool_id_of_other_user: others.toolId,
    tool_id_pending_approval: fresh.toolId,
    jwt,
    jwt_alg_none: new UnsecuredJWT({ scope: 'person' }).setSubject('ada').setExpirationTime('1h').encode(),
    jwt_expired: await signToken('ada', 'person', { expiresIn: '-1h' }),
    jwt_sig_flipped: flipLast(jwt),
    // The server trusts this key of its issuer for signatures. A token that uses it as an HMAC secret must be refused.
    jwt_hs256_public_key: await claims()
      .setProtectedHeader({ alg: 'HS256', kid: 'key-1' })
      .sign(new TextEncoder().encode(publicPem)),
    jwt_kid_dev_null: await claims()
      .setProtectedHeader({ alg: 'HS256', kid: '/dev/null' })
      .sign(new TextEncoder().encode('\u0000')),
  };
}

const flipLast = (jwt: string): string => {
  const at = jwt.length - 10;
  return jwt.slice(0, at) + (jwt[at] === 'A' ? 'B' : 'A') + jwt.slice(at + 1);
};
