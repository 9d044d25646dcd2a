import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defaultCommandLimits } from './isolation/command-limits.ts';
import { readRunnerSettings } from './runner-settings.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-settings-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const settings = (text: string) => {
  writeFileSync(join(folder, 'runner.json'), text);
  return readRunnerSettings(folder, '/somewhere/else');
};

const nothing = {
  readable: [],
  path: [],
  commands: defaultCommandLimits,
  environment: [],
  registries: {},
  programs: {},
  trials: { seconds: 30, bytes: 1024 ** 3, files: 100_000 },
  languageServers: [],
  reachablePorts: [],
  limits: {},
};

describe('[RN-7] [VA-7] runner.json', () => {
  it('adds nothing where there is none', () => {
    expect(readRunnerSettings(folder, '/somewhere/else')).toEqual(nothing);
  });

  it('adds language servers and variables', () => {
    const rust = { language: 'rust', extensions: ['.rs'], command: '/usr/bin/rust-analyzer' };
    const text = JSON.stringify({ version: 1, environment: ['CARGO_HOME'], language_servers: [rust] });
    expect(settings(text)).toEqual({
      ...nothing,
      environment: ['CARGO_HOME'],
      languageServers: [{ ...rust, args: [] }],
    });
  });

  it('[RN-5] lists hosts of package sources', () => {
    const registries = { cargo: ['crates.example'], npm: ['npm.example:4873'] };
    expect(settings(JSON.stringify({ version: 1, registries })).registries).toEqual(registries);
    for (const wrong of [{ cargo: ['localhost'] }, { cargo: ['https://crates.example/'] }, { nuget: [] }])
      expect(() => settings(JSON.stringify({ version: 1, registries: wrong }))).toThrow(/registries/);
  });

  it('[TL-3] sets limits', () => {
    const limits = { commandTimeoutMs: 600_000, concurrencyLimit: 2, enableCaching: false };
    expect(settings(JSON.stringify({ version: 1, limits })).limits).toEqual(limits);
  });

  it('[RN-5] names folders for commands, and what a command may use', () => {
    const text = '{"version":1,"readable":["/opt/jdk"],"path":["~/.cargo/bin"],"commands":{"cpuSeconds":60}}';
    expect(settings(text)).toEqual({
      ...nothing,
      readable: ['/opt/jdk'],
      path: ['~/.cargo/bin'],
      commands: { ...defaultCommandLimits, cpuSeconds: 60 },
    });
  });

  it('[RN-11] names programs that run without a layer', () => {
    expect(settings('{"version":1,"programs":{"docker":{"layer":false}}}')).toEqual({
      ...nothing,
      programs: { docker: { layer: false } },
    });
  });

  it.each([
    ['a program with its folder', '{"version":1,"programs":{"/bin/x":{"layer":false}}}', 'programs'],
    ['a folder that is not absolute', '{"version":1,"readable":["../x"]}', 'must begin with / or ~/'],
    ['a limit out of range', '{"version":1,"limits":{"commandTimeoutMs":5}}', 'limits.commandTimeoutMs: '],
    ['a limit that does not exist', '{"version":1,"limits":{"timeout":5}}', 'timeout'],
    ['a port that does not exist', '{"version":1,"reachable_ports":[0]}', 'reachable_ports.0'],
    ['no JSON', '{', 'expected object'],
    ['a misspelt field', '{"version":1,"enviroment":[]}', 'enviroment'],
    ['a variable with a value', '{"version":1,"environment":["A=b"]}', 'not the name of a variable'],
    [
      'an extension without a dot',
      '{"version":1,"language_servers":[{"language":"x","extensions":["rs"],"command":"x"}]}',
      'looks like .rs',
    ],
  ])('says what is wrong with %s', (_, text, problem) => {
    expect(() => settings(text)).toThrow(problem);
  });

  it('is refused if others can write it', () => {
    settings('{"version":1}');
    chmodSync(join(folder, 'runner.json'), 0o666);
    expect(() => readRunnerSettings(folder, '/somewhere/else')).toThrow('can be written by others');
  });
});
