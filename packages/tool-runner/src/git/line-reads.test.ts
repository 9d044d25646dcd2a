import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { sensitivePlaces, ToolCallPolicy } from '@countersign/policy';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cannotIsolate } from '../isolation/isolation-fixture.test-data.ts';
import { realDisk } from '../real-disk.ts';
import { GitFixture } from './git-fixture.test-data.ts';

/** What git answers in a shell line that runs unasked. */
describe.skipIf(cannotIsolate)('[RN-6] git in a LOW shell line', () => {
  let fixture: GitFixture;
  beforeEach(() => {
    fixture = new GitFixture().withCommit();
  });
  afterEach(() => fixture.remove());

  const decide = (command: string): string =>
    new ToolCallPolicy({ root: fixture.root, disk: realDisk }).decide('shell_exec', { command }).verdict
      .decision;
  async function run(command: string): Promise<string> {
    expect({ command, decision: decide(command) }).toEqual({ command, decision: 'LOW' });
    const { stdout, stderr } = await fixture.call('shell_exec', { command });
    return stdout + stderr;
  }

  it('answers as the person expects', async () => {
    fixture.git('remote', 'add', 'origin', 'https://ada:secret@example.org/x.git');
    fixture.write('a.txt', 'one\nTWO\nthree\n');
    fixture.write('new.txt', 'x\n');
    expect(await run('git status --short')).toBe(' M a.txt\n?? new.txt\n');
    expect(await run('git diff | grep "^[-+][a-zA-Z]"')).toBe('-two\n+TWO\n');
    expect(await run('git log --oneline')).toMatch(/^[0-9a-f]{7} first\n$/);
    expect(await run('git remote -v')).toContain('origin\thttps://ada:***@example.org/x.git (fetch)');
    expect(await run('git ls-files "*.txt"')).toBe('a.txt\n');
    mkdirSync(join(fixture.root, 'sub'));
    expect(await run('cd sub && git rev-parse --show-prefix')).toBe('sub/\n');
  });

  it('[VA-2] shows no line of a sensitive file, also not of an old commit', async () => {
    const secret = 'KEY=canary-31c7';
    fixture.write('.env', `${secret}\n`);
    fixture.write('.env.example', 'KEY=example\n');
    fixture.git('add', '-f', '.env', '.env.example');
    fixture.git('commit', '-q', '-m', 'second');
    fixture.write('.env', `${secret}2\n`);
    for (const line of [
      'git diff',
      'git diff HEAD~1',
      'git show',
      'git show HEAD',
      'git log -p',
      'git log -p --all --full-history',
      'git stash list -p',
      'git grep canary',
      'git grep canary HEAD',
      'git diff HEAD~1 HEAD --word-diff',
      'git log -p --cc --minimal -W',
      'git log -1 --format=%B -p --function-context',
      'cat .git/ORIG_HEAD; git ls-files -s | head',
    ])
      expect({ line, output: await run(line) }).toEqual({
        line,
        output: expect.not.stringContaining('canary-31c7'),
      });
    expect(await run('git show HEAD')).toContain('+KEY=example');
  });

  it('[VA-2] shows no line of any file that VA-2 names, in any spelling', async () => {
    const paths = sensitivePlaces.places
      .flatMap(({ matches }) => matches)
      .filter((path) => !path.startsWith('.git/'));
    for (const path of paths) fixture.write(path, `canary of ${path}\n`);
    fixture.write('.env.example', 'KEY=example\n');
    fixture.git('add', '-f', '.');
    fixture.git('commit', '-q', '-m', 'second');
    const shown = [await run('git show'), await run('git grep canary HEAD')].join('');
    expect(shown.match(/canary of .*/g) ?? []).toEqual([]);
    expect(shown).toContain('+KEY=example');
  });

  it('[VA-2] asks before a call that could show one', () => {
    const id = fixture.git('rev-parse', 'HEAD:a.txt').trim();
    for (const line of [
      `git show ${id}`,
      `git show ${id.slice(0, 7)}`,
      `git diff ${id} HEAD`,
      `git diff ${id.slice(0, 9)}..HEAD`,
      `git cat-file -p ${id}`,
      `git show ${id.toUpperCase()}`,
      `git show ${id}^{}`,
      'git log -p -a',
      'git log -p --text',
      'git diff --binary',
      'git show -pa',
      'git log -S KEY',
      'git log -SKEY',
      'git log -G K',
      'git log --pickaxe-all -SK',
      'git diff --no-index a.txt a.txt',
      'git grep -a canary',
      'git grep --text canary',
      'git cat-file --batch',
      'git log --format=%G?',
      'git rev-list --objects --all',
    ])
      expect({ line, decision: decide(line) }).toEqual({
        line,
        decision: expect.stringMatching(/MEDIUM|HIGH/),
      });
  });

  it('asks about a repository of its own below the workspace, and about one with submodules', () => {
    mkdirSync(join(fixture.root, 'nested'));
    cpSync(join(fixture.root, '.git'), join(fixture.root, 'nested/.git'), { recursive: true });
    expect(decide('git status')).toBe('LOW');
    expect(decide('cd nested && git status')).toBe('MEDIUM');
    expect(decide('git -C nested status')).toBe('MEDIUM');
    fixture.write('.gitmodules', '');
    expect(decide('git status')).toBe('MEDIUM');
    expect(decide('git log')).toBe('LOW');
  });

  it('finds no repository where there is none', async () => {
    fixture.git('init', '-q', '../elsewhere');
    const bare = new GitFixture();
    try {
      const { stderr, success } = await bare.call('shell_exec', { command: 'git log; git --version' });
      expect({ stderr, success }).toEqual({
        stderr: expect.stringContaining('not a git repository'),
        success: true,
      });
    } finally {
      await bare.remove();
    }
  });
});
