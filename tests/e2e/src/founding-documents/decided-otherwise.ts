import { describe, expect, it } from 'vitest';
import type { DocumentFixture, Json } from './document-fixture.ts';

/**
 * Where the documents disagree, or the specification decided against them, these tests follow the specification.
 * `proof` tests the decision; without one, the other stories follow it.
 */
interface Decision {
  readonly document: string;
  readonly says: string;
  readonly decided: string;
  readonly rule: string;
  readonly proof?: (fixture: DocumentFixture) => Promise<void>;
}

const decidedOtherwise: readonly Decision[] = [
  {
    document: 'workflow',
    says: 'EventSource and fetch carry no token',
    decided: 'every request has a bearer; the harness adds it to both, and nothing else',
    rule: 'RE-5',
    async proof(fixture) {
      const person = await fixture.person();
      const response = await fetch(person.url(person.inProject('/chat/stream')));
      expect(response.status).toBe(401);
      await response.body?.cancel();
    },
  },
  {
    document: 'workflow',
    says: "the stream's address is a plain text with {projectId} in it",
    decided: "it has the project's id",
    rule: 'RE-1',
  },
  {
    document: 'workflow, tools-specification, implementation-plan',
    says: 'events tool.approval, APPROVAL_REQUIRED and tool.execute, TOOL_EXECUTION_REQUEST',
    decided: 'tool.approval_request and tool.execution_signal, as the sample client spells them',
    rule: 'EV-1',
  },
  {
    document: 'workflow',
    says: 'states in capitals',
    decided: 'stored and sent in lower case',
    rule: 'EX-2',
  },
  {
    document: 'workflow',
    says: 'the result is a column of tool_executions',
    decided: 'it is a table of its own, for its owner only',
    rule: 'DA-3',
    async proof({ database }) {
      expect(await database.query('select result from results where id = $1', 'none')).toEqual([]);
    },
  },
  {
    document: 'implementation-plan',
    says: 'docker is HIGH; .exe, .bin and .dll can be written as HIGH',
    decided: 'both are refused',
    rule: 'VA-4, TL-4',
    async proof(fixture) {
      const person = await fixture.person();
      const made = [
        await person.execute('execute_command', { command: 'docker', args: ['ps'] }),
        await person.execute('write_file', { path: 'a.dll', content: 'x' }),
      ];
      expect(made.map(({ body }) => body.success)).toEqual([false, false]);
    },
  },
  {
    document: 'tools-specification',
    says: 'writing config.json is HIGH',
    decided: 'MEDIUM, by its extension',
    rule: 'RK-2',
    async proof(fixture) {
      const person = await fixture.person();
      const { body } = await person.execute('write_file', { path: 'config.json', content: '{}' });
      expect(await person.call(body.tool_id)).toMatchObject({ risk_level: 'MEDIUM' });
    },
  },
  {
    document: 'workflow',
    says: 'a client that shows no preview may approve anything',
    decided: 'HIGH waits for the preview of a runner; rejecting needs none',
    rule: 'AP-7',
    async proof(fixture) {
      const person = await fixture.person();
      const { body } = await person.execute('delete_file', { path: 'a.md' });
      const at = (decision: string) => person.inProject(`/approvals/${body.approval_id}/${decision}`);
      const approved = await person.post(at('approve'), { decision: 'approved' });
      expect(approved).toMatchObject({ status: 409, body: { code: 'PREVIEW_PENDING' } });
      expect(await person.post(at('reject'), { reason: 'User declined' })).toMatchObject({ status: 200 });
    },
  },
  {
    document: 'local-tool-execution',
    says: 'a request that nobody answers is rejected by the client',
    decided: 'only the server expires it, and only a person rejects',
    rule: 'AP-3',
  },
  {
    document: 'local-tool-execution',
    says: 'three methods of the api are enough to execute',
    decided: 'what is not LOW also needs a preview and a claim, so the api has those too',
    rule: 'AP-8, EX-6, RN-2',
  },
  {
    document: 'tools-specification',
    says: 'an unknown tool is "Tool not found", a rejected call "Approval denied"',
    decided: 'an error with a stable code; the reason that the person gave',
    rule: 'RE-3, AP-5',
    async proof(fixture) {
      const person = await fixture.person();
      const { status, body } = await person.execute('no_such_tool', {});
      expect([status, body as Json]).toMatchObject([404, { code: 'UNKNOWN_TOOL' }]);
    },
  },
  {
    document: 'tools-specification',
    says: 'each tool takes a user_id',
    decided: 'the user comes from the token alone',
    rule: 'RE-5',
    async proof(fixture) {
      const person = await fixture.person();
      const { status } = await person.execute('read_file', { path: 'a.md', user_id: 'somebody' });
      expect(status).toBe(400);
    },
  },
];

export function describeDecisions(fixture: () => DocumentFixture): void {
  describe('decided otherwise', () => {
    const proven = decidedOtherwise.flatMap(({ proof, ...row }) => (proof ? [{ ...row, proof }] : []));
    it.each(proven)('[$rule] $says: $decided (founding documents: $document)', ({ proof }) =>
      proof(fixture()),
    );
  });
}
