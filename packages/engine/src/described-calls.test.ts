import { ToolCallPolicy } from '@countersign/policy';
import { describeCall } from '@countersign/protocol';
import { describe, expect, it } from 'vitest';
import { scopesOffered } from './approve/grants.ts';
import { digestOf, newId } from './ids.ts';

describe('[AP-1] describeCall', () => {
  it.each([
    ['write_file', { path: 'config.json' }, 'change config.json'],
    ['write_file', { path: 'a.md', mode: 'append' }, 'add to a.md'],
    ['edit_file', { path: 'config.json' }, 'change config.json'],
    ['delete_file', { path: 'a.md' }, 'delete a.md'],
    ['copy_file', { source: 'a', dest: 'b' }, 'copy a to b'],
    ['move_file', { source: 'a', dest: 'b' }, 'move a to b'],
    ['create_directory', { path: 'x' }, 'create the directory x'],
    ['read_file', { path: 'a' }, 'read a'],
    ['list_directory', { path: 'a' }, 'list a'],
    ['execute_command', { command: 'npm', args: ['test'] }, 'run npm test'],
    ['shell_exec', { command: 'a\nb' }, 'run a b'],
    ['shell_background', { command: 'npm start' }, 'start npm start in the background'],
    ['git_commit', { message: 'fix', files: ['a', 'b'] }, 'commit 2 files: fix'],
    ['git_branch', { name: 'x' }, 'create the branch x'],
    ['git_push', {}, 'push to origin'],
    ['deploy__staging', {}, 'use deploy__staging'],
  ])('%s: %j', (tool, params, expected) => {
    expect(describeCall('Agent', tool, params)).toBe(`Agent wants to ${expected}`);
  });

  it('says that a file is created once a preview knows that it is new (founding documents: tools-specification)', () => {
    const described = (operation: 'created' | 'modified', mode = 'write') =>
      describeCall(
        'Agent',
        'write_file',
        { path: 'a.md', mode },
        {
          kind: 'diff',
          files: [{ path: 'a.md', operation, diff: '', truncated: false, size_before: null, size_after: 1 }],
        },
      );
    expect(described('created')).toBe('Agent wants to create a.md');
    expect(described('created', 'append')).toBe('Agent wants to create a.md');
    expect(described('modified')).toBe('Agent wants to change a.md');
    expect(described('modified', 'append')).toBe('Agent wants to add to a.md');
  });

  it('[AP-7] shows hidden characters, and stays one short line', () => {
    expect(describeCall('Agent', 'read_file', { path: 'a\u202eb' })).toContain('⟨U+202E⟩');
    // These count as white space, and used to be collapsed before they were named.
    for (const sign of ['\ufeff', '\u2028', '\u2029', '\u00a0', '\u3000', '\v', '\r'])
      expect(describeCall('Agent', 'read_file', { path: `a${sign}b` })).toMatch(/read a⟨U\+[0-9A-F]{4}⟩b$/);
    expect(describeCall('Agent', 'shell_exec', { command: 'x'.repeat(1000) }).length).toBeLessThan(200);
  });
});

describe('digests', () => {
  it('are the same for the same value, whatever the order of keys', () => {
    expect(digestOf({ a: 1, b: [{ d: 1, c: 2 }] })).toBe(digestOf({ b: [{ c: 2, d: 1 }], a: 1 }));
    expect(digestOf({ a: 1 })).not.toBe(digestOf({ a: '1' }));
    expect(digestOf(null)).toMatch(/^sha256:[0-9a-f]{64}$/);
  });

  it('cover long texts, each in its place', () => {
    const [a, b] = ['a', 'b'].map((letter) => letter.repeat(70_000)) as [string, string];
    const all = [{ a, b }, { a: b, b: a }, [a, b], [b, a], [a, a], [`${a}a`, b], [a + b], ['#', '#'], [a], a];
    expect(new Set(all.map(digestOf)).size).toBe(all.length);
    expect(digestOf({ b, a })).toBe(digestOf({ a, b }));
    expect(digestOf({ a })).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(digestOf(`${a}\ud800`)).not.toBe(digestOf(`${a}\ufffd`));
  });
});

describe('newId', () => {
  it('is a UUID of version 7, unique and in the order of time', () => {
    const ids = Array.from({ length: 2000 }, (_, i) => newId(1_700_000_000_000 + i));
    expect(new Set(ids).size).toBe(2000);
    expect([...ids].sort()).toEqual(ids);
    for (const id of ids)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});

describe('[AP-4] scopesOffered', () => {
  const policy = new ToolCallPolicy({ root: '/workspace' });
  const offered = (tool: string, params: object) =>
    scopesOffered(policy, policy.decide(tool, params)).map(({ scope, pattern, max_risk }) => [
      scope,
      pattern,
      max_risk,
    ]);

  it('are classes of that call, narrow before wide, never above its risk', () => {
    expect(offered('execute_command', { command: 'git', args: ['commit', '-m', 'x'] })).toEqual([
      ['class', 'git commit -m x', 'MEDIUM'],
      ['always', 'git commit -m x', 'MEDIUM'],
      ['class', 'git commit *', 'MEDIUM'],
      ['always', 'git commit *', 'MEDIUM'],
      ['class', 'git *', 'MEDIUM'],
      ['always', 'git *', 'MEDIUM'],
      ['session', null, 'MEDIUM'],
    ]);
    expect(offered('delete_file', { path: 'src/a.ts' })).toContainEqual(['class', 'src/**', 'HIGH']);
    expect(offered('git_push', {})).toContainEqual(['class', null, 'HIGH']);
    const git = [
      ['class', 'git *', 'MEDIUM'],
      ['always', 'git *', 'MEDIUM'],
      ['session', null, 'MEDIUM'],
    ];
    const all = [
      ['class', null, 'MEDIUM'],
      ['always', null, 'MEDIUM'],
    ];
    expect(offered('git_commit', { message: 'x', files: ['a.md'] })).toEqual([...all, ...git]);
    expect(offered('git_branch', { name: 'x', create: true })).toEqual([...all, ...git]);
    expect(offered('git_push', {})).not.toContainEqual(['class', 'git *', 'HIGH']);
    const writes = offered('shell_exec', { command: 'npm test > a.md' });
    expect(writes.map(([scope]) => scope)).toEqual(['session']);
  });

  it('cover the call they are made on: a class if it is a harmless command, otherwise exactly that line', () => {
    const command = (name: string, ...args: string[]) => offered('execute_command', { command: name, args });
    const session = ['session', null, 'MEDIUM'];
    expect(command('git', 'push', 'origin', 'main')).toEqual([
      ['class', 'git push origin main', 'HIGH'],
      ['always', 'git push origin main', 'HIGH'],
      session,
    ]);
    expect(command('npm', 'install', 'x*')).toContainEqual(['class', 'npm install x\\*', 'MEDIUM']);
    expect(command('git', 'config', '--get', 'user.name')).not.toContainEqual(['class', 'git *', 'MEDIUM']);
    // A pattern cannot contain a word with spaces. A call that always needs a person gets no scope at all.
    expect(command('git', 'tag', '-F', 'a b')).toEqual([session]);
    expect(command('git', 'config', 'user.name', 'x')).toEqual([]);
    expect(command('node', '--test', '--test-reporter=data:text/javascript,1')).toEqual([]);
  });

  it('are not offered if the person is not asked, or for a place that executes later', () => {
    expect(offered('read_file', { path: 'a.md' })).toEqual([]);
    expect(offered('write_file', { path: '.git/hooks/x', content: '' })).toEqual([]);
    expect(offered('write_file', { path: '../x', content: '' })).toEqual([]);
  });
});
