import { describe, expect, it } from 'vitest';
import { type DocumentFixture, type Json, type Person, utcTime } from './document-fixture.ts';

const command = (line: string): [string, Json] => {
  const [program = '', ...args] = line.split(' ');
  return ['execute_command', { command: program, args }];
};
const write = (path: string): [string, Json] => ['write_file', { path, content: 'x' }];

/** The four tools of the specification: what is allowed, its risk, and what the person may agree to. */
export function describeTools(fixture: () => DocumentFixture): void {
  describe('the risk of a call', () => {
    it.each([
      ['LOW', 'read_file', { path: 'a.bin.md' }],
      ['LOW', 'list_directory', { path: '.' }],
      ...['grep x a.md', 'find . -name a.md', 'ls', 'cat a.md', 'head a.md', 'tail a.md', 'wc a.md'].map(
        (line): [string, string, Json] => ['LOW', ...command(line)],
      ),
      ...['.txt', '.md', '.json', '.py', '.js', '.ts', '.jsx', '.tsx'].map(
        (extension): [string, string, Json] => ['MEDIUM', ...write(`a${extension}`)],
      ),
      ...['git commit -m x', 'npm install express', 'node script.js', 'python script.py'].map(
        (line): [string, string, Json] => ['MEDIUM', ...command(line)],
      ),
      ...['.sh', '.conf'].map((extension): [string, string, Json] => ['HIGH', ...write(`a${extension}`)]),
      ['HIGH', ...command('gcc main.c')],
    ])(
      '[RK-2] %s: %s %o (founding documents: tools-specification, implementation-plan)',
      async (risk, tool, params) => {
        const person = risk === 'LOW' ? await fixture().person() : await sharedPerson(fixture());
        // The answer to a LOW call waits for its outcome, so a client must execute it.
        if (risk === 'LOW') await person.startSampleClient();
        const made = await person.execute(tool, params, await newSession(person));
        const { risk_level, status, requires_approval } = await person.call(made.body.tool_id);
        expect({ risk_level, requires_approval }).toEqual({
          risk_level: risk,
          requires_approval: risk !== 'LOW',
        });
        if (risk === 'LOW') return;
        expect(status).toBe('awaiting_approval');
        const { body } = await person.get(`/my/approvals/${made.body.approval_id}`);
        expect((body.approval as Json).timeout_seconds).toBe(risk === 'HIGH' ? 600 : 300);
      },
    );

    it.each([
      ...[
        'rm -rf /',
        'dd if=/dev/zero',
        'mkfs /dev/sda',
        'sudo ls',
        'su root',
        'curl http://a',
        'wget http://a',
      ],
      ...[
        'ssh-keygen',
        'openssl genrsa',
        'pacman -S x',
        'apt install x',
        'yum install x',
        'docker ps',
        'bash -c ls',
      ],
    ])('[VA-4] refuses %s (founding documents: tools-specification, implementation-plan)', async (line) => {
      const person = await sharedPerson(fixture());
      const { status, body } = await person.execute(...command(line));
      expect([status, body.error]).toEqual([
        403,
        expect.stringContaining(`Command not allowed: ${line.split(' ')[0]}`),
      ]);
      expect(await person.call(body.tool_id)).toMatchObject({ status: 'failed', approval_id: null });
    });

    it.each([
      ['read_file', { path: '../other/a.md' }],
      ['read_file', { path: '/etc/passwd' }],
      ['list_directory', { path: '..' }],
      ['read_file', { path: '.env' }],
      ['read_file', { path: '.ssh/id_rsa' }],
      ['read_file', { path: '.aws/credentials' }],
      ['read_file', { path: 'credentials.json' }],
      ['write_file', { path: '../a.md', content: 'x' }],
      ['write_file', { path: 'a.exe', content: 'x' }],
      ['write_file', { path: 'a.bin', content: 'x' }],
      ['write_file', { path: 'a.so', content: 'x' }],
      ['write_file', { path: 'a.md', content: 'x', mode: 'truncate' }],
      ['execute_command', { command: 'ls', timeout: 301 }],
      ['execute_command', { command: 'cat', args: ['/etc/passwd'] }],
      ['no_such_tool', {}],
      ['read_file', {}],
    ])(
      '[VA-1] [TL-4] [TL-3] refuses %s %o before anybody is asked (founding documents: tools-specification)',
      async (tool, params) => {
        const person = await sharedPerson(fixture());
        const { body } = await person.execute(tool, params);
        expect(body).toMatchObject({ success: false, error: expect.any(String), code: expect.any(String) });
        expect(await person.call(body.tool_id)).toMatchObject({ status: 'failed', approval_id: null });
      },
    );
  });

  describe('what one approval can cover', () => {
    it('[AP-4] one operation: the next one needs approval again (founding documents: tools-specification)', async () => {
      const person = await fixture().person();
      const session = await newSession(person);
      const first = await person.execute(...command('git add a.md'), session);
      await person.post(`/my/approvals/${first.body.approval_id}/confirm`, { decision: 'approved' });
      const second = await person.execute(...command('git add b.md'), session);
      expect(second.body.status).toBe('awaiting_approval');
    });

    it('[AP-4] a class of operations in this session: all git commands (founding documents: tools-specification)', async () => {
      const person = await fixture().person();
      const session = await newSession(person);
      const first = await person.execute(...command('git add a.md'), session);
      const { body } = await person.get(`/my/approvals/${first.body.approval_id}`);
      const offered = (body.approval as Json).offered_scopes as Json[];
      const { scope, pattern } = offered.find((one) => one.pattern === 'git *') as Json;
      await person.post(`/my/approvals/${first.body.approval_id}/confirm`, { scope, pattern });
      const elsewhere = await person.execute(...command('git add b.md'), await newSession(person));
      expect(elsewhere.body.status).toBe('awaiting_approval');
      await person.startSampleClient();
      const second = await person.execute(...command('git add b.md'), session);
      expect(second.body.approval_id).toBeNull();
      expect(await person.call(second.body.tool_id)).toMatchObject({ approved_by: 'config' });
    });

    it('[AP-4] everything in this session, with a warning (founding documents: tools-specification)', async () => {
      const person = await fixture().person();
      const session = await newSession(person);
      const first = await person.execute(...write('a.md'), session);
      const { body } = await person.get(`/my/approvals/${first.body.approval_id}`);
      const offered = (body.approval as Json).offered_scopes as Json[];
      expect(offered.find(({ scope }) => scope === 'session')).toMatchObject({ warning: expect.any(String) });
      await person.post(`/my/approvals/${first.body.approval_id}/confirm`, { scope: 'session' });
      await person.startSampleClient();
      const second = await person.execute(...command('npm test'), session);
      expect(second.body.approval_id).toBeNull();
    });

    it('[AP-2] a decision is made once (founding documents: tools-specification)', async () => {
      const person = await fixture().person();
      const { body } = await person.execute(...write('a.md'));
      const path = `/my/approvals/${body.approval_id}/confirm`;
      const answers = [await person.post(path, {}), await person.post(path, {})];
      expect(answers.map(({ status }) => status)).toEqual([200, 409]);
      expect(await person.call(body.tool_id)).toMatchObject({ approved_at: expect.stringMatching(utcTime) });
    });
  });
}

/** Independent calls share one person, so that a table of fifty rows does not need fifty projects. */
const shared = new WeakMap<DocumentFixture, Promise<Person>>();
function sharedPerson(fixture: DocumentFixture): Promise<Person> {
  const person = shared.get(fixture) ?? fixture.person();
  shared.set(fixture, person);
  return person;
}

/** At most ten approvals may wait in one session. */
async function newSession(person: Person): Promise<{ session_id: unknown }> {
  const { body } = await person.post(person.inProject('/sessions'), {});
  return { session_id: (body.session as Json).session_id };
}
