import { realDisk, temporaryWorkspace } from '@countersign/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PathValidator } from '../path-validator.ts';
import { CommandValidator } from './command-validator.ts';
import { parseOptions } from './option-parser.ts';
import { OptionState } from './option-state.ts';
import { optionTable } from './option-table.ts';
import { splitExample } from './split-example.ts';

describe('[VA-5] the final state of the options', () => {
  const table = optionTable({
    negatable: true,
    flags: '-l --list --get --get-all --no-verify --both --no-both',
    values: '--orphan',
  });
  const state = (line: string) => new OptionState(parseOptions(line.split(' '), table));
  const list = ['-l', '--list'];

  it.each<[string, readonly string[], boolean]>([
    ['--list', list, true],
    ['-l', list, true],
    ['--list --no-list', list, false],
    ['-l --no-list', list, false],
    ['-l --no-li', list, false],
    ['--no-list -l', list, true],
    ['-l --no-list --list', list, true],
    ['--orphan=x --no-orphan', ['--orphan'], false],
    ['--orphan x --no-orphan', ['--orphan'], false],
    ['--orphan --no-orphan', ['--orphan'], true], // the value of --orphan
    ['--no-verify', ['--no-verify'], true],
    ['--no-verify --verify', ['--no-verify'], false],
    ['--both --no-both', ['--both'], false],
    ['--no-both --both', ['--both'], true],
    ['--ge', ['--get', '--get-all'], false], // not clear which
    ['-- --list', list, false],
  ])('%s: %j is %s', (line, names, isOn) => {
    expect(state(line).isOn(names)).toBe(isOn);
  });

  it('of one setting with several names, the last one counts', () => {
    expect(state('--get --no-list').isOn(['--get'], list)).toBe(false);
    expect(state('--get --list').isOn(['--get'], list)).toBe(false);
    expect(state('--list --get').isOn(['--get'], list)).toBe(true);
  });

  it('still knows what was taken back', () => {
    expect(state('--list --no-list').wasGiven('--list')).toBe(true);
    expect(state('--no-list').wasGiven('--list')).toBe(false);
  });

  it('takes a word that can take back anything as not understood', () => {
    const [word] = parseOptions(['--no'], table);
    expect(word?.kind).toBe('unknown');
  });
});

describe('[VA-5] a call is judged by the options that are in force at its end', () => {
  let workspace: ReturnType<typeof temporaryWorkspace>;
  let validator: CommandValidator;
  beforeAll(() => {
    workspace = temporaryWorkspace();
    validator = new CommandValidator({ paths: new PathValidator({ root: workspace.root, disk: realDisk }) });
  });
  afterAll(() => workspace.remove());

  const decide = (line: string): string => {
    const [command, ...args] = splitExample(line);
    return validator.check(command, args).verdict.decision;
  };

  it.each([
    'git config --get --no-get core.fsmonitor ./x.sh',
    'git config --get --no-ge core.fsmonitor ./x.sh',
    'git config --get-all --no-get-all core.pager id',
    'git config -l --no-list core.pager id',
    'git config -zl --no-list core.pager id',
    'git config --list --no-list core.pager id',
    'git config --get --no-add core.pager id',
    'git config --get --no core.pager id',
    'git config --get-regexp --no-get-r core.pager id',
    'git checkout --orphan=x --no-orphan README.md',
    'git checkout --orphan x --no-orph README.md',
    'git checkout --orphan=x --no-orphan main',
    'git checkout -t --no-track README.md',
    'git checkout --track --no-track README.md',
    'git checkout --pathspec-from-file=docs/notes.txt',
    'git restore --staged --no-staged README.md',
    'git restore -S --no-staged README.md',
    'git restore --staged --no-worktree --worktree README.md',
    'git branch --force --no-force x',
    'node --test --no-test',
    'node --no-version',
    'node --version --no-version',
    'npm i --no-global=false x',
    'npm i --no-global false x',
    'npm i --local=false x',
    'npm test --no-script-shell=./x.sh',
    'npm test --no-node-options=--require=./x.js',
    'npm --no-location=global i x',
    'npm --audit=publish',
    'npm --json=exec x',
    'npm --no-depth=publish',
  ])('HIGH: %s', (line) => {
    expect(decide(line)).toBe('HIGH');
  });

  it.each([
    'git config --get user.name',
    'git config --no-get --get user.name',
    'git config --get --no-get --get user.name x',
    'git config --list --no-show-origin',
    'git checkout -b x',
    'git checkout --no-orphan -b x',
    'git checkout -b x --no-track origin/main',
    'git checkout --no-guess main',
    'git restore --staged README.md',
    'git restore --staged --worktree --no-worktree README.md',
    'git log --no-merges',
    'git commit --no-verify -m x',
    'git merge --no-ff main',
    'git pull --no-rebase',
    'node --test',
    'node --no-test --test',
    'node --no-warnings src/app.js',
    'npm i --no-audit --no-fund',
    'npm i --no-global x',
    'npm ls --json=true --color=always',
    'npm test --no-color',
  ])('MEDIUM: %s', (line) => {
    expect(decide(line)).toBe('MEDIUM');
  });

  it.each([
    'tar xf bundle.tar --one-top-level=docs --one-top-level=/etc',
    'tar xf bundle.tar --one-top-level=docs --one-top-level=../x',
    'npm i --no-prefix=/x',
    'npm i --no-workspace=../x',
  ])('REJECT: %s', (line) => {
    expect(decide(line)).toBe('REJECT');
  });

  it('[VA-3] every directory that an archive may be unpacked into counts', () => {
    const needsPerson = (line: string) => {
      const [command, ...args] = splitExample(line);
      return validator.check(command, args).needsPerson;
    };
    expect(needsPerson('tar xf bundle.tar --one-top-level=docs')).toBe(false);
    expect(needsPerson('tar xf bundle.tar --one-top-level=docs --one-top-level=.')).toBe(true);
    expect(needsPerson('tar xf .git.tar --one-top-level')).toBe(true);
  });

  it('[AP-8] an archive that is written is written, whatever else is on the line', () => {
    const uses = (line: string) => {
      const [command, ...args] = splitExample(line);
      return validator.check(command, args).operands;
    };
    expect(uses('tar -t -r -f bundle.tar README.md')).toContainEqual({ path: 'bundle.tar', use: 'write' });
    expect(uses('tar -tf bundle.tar')).toContainEqual({ path: 'bundle.tar', use: 'read' });
  });

  it('finds the subcommand of a family behind an option whose value has the same name', () => {
    expect(decide('git stash -m drop drop')).toBe('HIGH');
    expect(decide('git notes --ref add add -F /etc/hosts')).toBe('REJECT');
  });
});
