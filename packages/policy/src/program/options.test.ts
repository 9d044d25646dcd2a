import { realDisk, temporaryWorkspace } from '@countersign/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CommandValidator } from '../command/command-validator.ts';
import { splitExample } from '../command/split-example.test-data.ts';
import { PathValidator } from '../path-validator.ts';
import { UNKNOWN } from './marks.ts';
import { HIGH_OPTIONS, MEDIUM_OPTIONS, REFUSED_OPTIONS } from './options.test-data.ts';
import { OptionState, optionTable, parseOptions, readOptions } from './options.ts';

describe('[VA-6] words that are only known at run time', () => {
  it('counts a dash before such a word as an operand, because it may be anything', () => {
    const { operands, flags } = readOptions([`-${UNKNOWN}`, '-r', `-x${UNKNOWN}`]);
    expect(operands).toEqual([`-${UNKNOWN}`]);
    expect([...flags]).toEqual(['r', 'x', UNKNOWN]);
  });
});

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

  it('still reports an option that was negated later', () => {
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

  it.each(HIGH_OPTIONS)('HIGH: %s', (line) => {
    expect(decide(line)).toBe('HIGH');
  });

  it.each(MEDIUM_OPTIONS)('MEDIUM: %s', (line) => {
    expect(decide(line)).toBe('MEDIUM');
  });

  it.each(REFUSED_OPTIONS)('REJECT: %s', (line) => {
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
