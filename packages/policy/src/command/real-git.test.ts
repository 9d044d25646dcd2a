import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { realDisk } from '@countersign/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PathValidator } from '../path-validator.ts';
import { CommandValidator } from './command-validator.ts';

/** Runs the real git with every pair of options: a call that changes something must not be judged as a read. */
describe('[VA-5] the git on this machine and its table agree', () => {
  let root: string;
  let validator: CommandValidator;
  const env = { PATH: process.env.PATH, HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1' };
  const git = (...args: string[]) => spawnSync('git', args, { cwd: root, env, input: '' });
  const decide = (args: readonly string[]): string => validator.check('git', args).verdict.decision;

  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), 'countersign-git-'));
    validator = new CommandValidator({ paths: new PathValidator({ root, disk: realDisk }) });
    writeFileSync(join(root, 'file.md'), 'committed');
    execFileSync('git', ['init', '-q'], { cwd: root, env });
    execFileSync('git', ['add', '.'], { cwd: root, env });
    const identity = ['-c', 'user.name=x', '-c', 'user.email=x@example.com'];
    execFileSync('git', [...identity, 'commit', '-qm', 'x'], { cwd: root, env });
  });
  afterAll(() => rmSync(root, { recursive: true }));

  const pairs = (options: readonly string[]): string[][] =>
    options.flatMap((first) => options.map((second) => [first, second]));

  it('on what sets a value', () => {
    const config = join(root, '.git/config');
    const before = readFileSync(config, 'utf8');
    const options = '--get --no-get --no-ge -l --no-list --get-all --no-add'.split(' ');
    const changing: string[] = [];
    for (const given of pairs(options)) {
      const args = ['config', ...given, 'a.b', 'value'];
      git(...args);
      if (readFileSync(config, 'utf8') === before) continue;
      writeFileSync(config, before);
      changing.push(given.join(' '));
      expect([args.join(' '), decide(args)]).toEqual([args.join(' '), 'HIGH']);
    }
    expect(changing).toContain('--get --no-get');
  });

  it('on what throws changes of a file away', () => {
    const file = join(root, 'file.md');
    const options = '--orphan=x --no-orphan --no-orph --track --no-track -bx'.split(' ');
    const losing: string[] = [];
    for (const given of pairs(options)) {
      writeFileSync(file, 'changed');
      const args = ['checkout', ...given, 'file.md'];
      git(...args);
      if (readFileSync(file, 'utf8') === 'changed') continue;
      losing.push(given.join(' '));
      expect([args.join(' '), decide(args)]).toEqual([args.join(' '), 'HIGH']);
    }
    expect(losing).toContain('--orphan=x --no-orphan');
  });

  it('on what restores the file and not only the index', () => {
    const file = join(root, 'file.md');
    const options = '--staged --no-staged -S -W --worktree --no-worktree'.split(' ');
    const losing: string[] = [];
    for (const given of pairs(options)) {
      writeFileSync(file, 'changed');
      const args = ['restore', ...given, 'file.md'];
      git(...args);
      if (readFileSync(file, 'utf8') === 'changed') continue;
      losing.push(given.join(' '));
      expect([args.join(' '), decide(args)]).toEqual([args.join(' '), 'HIGH']);
    }
    expect(losing).toContain('--staged --worktree');
  });
});
