import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addPrograms } from './add-programs.ts';
import { findProgramOffers } from './program-offers.ts';

let parent: string;
beforeEach(() => {
  parent = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-offers-')));
  for (const folder of ['ws', 'home', 'state', 'config']) mkdirSync(join(parent, folder));
});
afterEach(() => rmSync(parent, { recursive: true }));

const at = (path: string): string => join(parent, path);
function put(path: string, content = '', mode = 0o644): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), content);
  chmodSync(at(path), mode);
}
const program = (path: string) => put(path, '#!/bin/sh\n', 0o755);
function link(path: string, target: string): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  symlinkSync(at(target), at(path));
}
const forbidden = () => ({
  root: at('ws'),
  home: at('home'),
  stateFolder: at('state'),
  configFolder: at('config'),
});
const offers = (path: readonly string[], listed = { readable: [] as string[], path: [] as string[] }) =>
  findProgramOffers({
    forbidden: forbidden(),
    listed,
    path: path.map((folder) => (folder.startsWith('/') ? folder : at(folder))).join(':'),
  });

describe('[RN-5] programs of the person that isolation hides', () => {
  it('are offered with what they need: toolchains, the folder around bin, the environment of a link', () => {
    program('home/.cargo/bin/cargo');
    put('home/.rustup/settings.toml');
    program('home/.nvm/versions/node/v22/bin/node');
    program('home/.local/share/pipx/venvs/black/bin/black');
    link('home/.local/bin/black', 'home/.local/share/pipx/venvs/black/bin/black');
    program('sdk/go/bin/go');
    program('home/bin/mine');
    const found = offers([
      'home/.cargo/bin',
      'home/.nvm/versions/node/v22/bin',
      'home/.local/bin',
      'sdk/go/bin',
      'home/bin',
      '/usr/bin',
      'home/none',
    ]);
    expect(found).toEqual([
      { from: at('home/.cargo/bin'), path: ['~/.cargo/bin'], readable: ['~/.rustup'], programs: ['cargo'] },
      {
        from: at('home/.nvm/versions/node/v22/bin'),
        path: ['~/.nvm/versions/node/v22/bin'],
        readable: ['~/.nvm/versions/node/v22'],
        programs: ['node'],
      },
      {
        from: at('home/.local/bin'),
        path: ['~/.local/bin'],
        readable: ['~/.local/share/pipx'],
        programs: ['black'],
      },
      { from: at('sdk/go/bin'), path: [at('sdk/go/bin')], readable: [at('sdk/go')], programs: ['go'] },
      { from: at('home/bin'), path: ['~/bin'], readable: [], programs: ['mine'] },
    ]);
    expect(offers(['home/.cargo/bin'], { path: ['~/.cargo/bin'], readable: ['~/.rustup'] })).toEqual([]);
  });

  it('[VA-2] never offers a sensitive folder, nor one of the workspace', () => {
    program('home/.ssh/helper');
    program('state/bin/x');
    program('ws/node_modules/.bin/tsc');
    link('home/tools/tsc', 'ws/node_modules/.bin/tsc');
    link('home/tools/helper', 'home/.ssh/helper');
    expect(offers(['home/.ssh', 'state/bin', 'ws/node_modules/.bin', '/proc/self/cwd'])).toEqual([]);
    expect(offers(['home/tools'])).toEqual([]);
  });

  it('offers the Python of a virtual environment, under the name that its links use', () => {
    program('home/.local/share/uv/python/cpython-3.12.8/bin/python3');
    put('home/.local/share/uv/python/cpython-3.12.8/lib/python3.12/os.py');
    link('home/.local/share/uv/python/cpython-3.12', 'home/.local/share/uv/python/cpython-3.12.8');
    put(
      'ws/.venv/pyvenv.cfg',
      `home = ${at('home/.local/share/uv/python/cpython-3.12/bin')}\nversion = 3.12\n`,
    );
    expect(offers([])).toEqual([
      { from: at('ws/.venv'), path: [], readable: ['~/.local/share/uv/python/cpython-3.12'], programs: [] },
    ]);
  });

  it.each([
    ['the home folder', 'home'],
    ['a folder of secrets', 'home/.ssh'],
    ['a private folder', 'home/private'],
    ['a folder with an interpreter and no library', 'home/tools/bin'],
    ['the root', '/'],
    ['/etc', '/etc'],
    ['a relative path', '../../home'],
  ])('[RN-5] a hostile virtual environment that names %s gets nothing', (_, home) => {
    program('home/bin/python3');
    program('home/tools/bin/python3');
    put('home/.ssh/id_rsa', 'SECRET');
    put('home/private/diary', 'SECRET');
    const named = home.startsWith('/') || home.startsWith('.') ? home : at(home);
    put('ws/.venv/pyvenv.cfg', `home = ${named}\n`);
    expect(offers([])).toEqual([]);
  });

  it('[RN-5] not the home folder either, where a Python was installed into it', () => {
    program('home/bin/python3');
    put('home/lib/python3.12/os.py');
    put('ws/.venv/pyvenv.cfg', `home = ${at('home/bin')}\n`);
    expect(offers([])).toEqual([]);
  });

  it('a file that is not a plain one is not read', () => {
    put('home/cfg', `home = ${at('home/bin')}\n`);
    link('ws/.venv/pyvenv.cfg', 'home/cfg');
    expect(offers([])).toEqual([]);
  });

  it('are added to what runner.json says, once', () => {
    put('config/runner.json', '{"version":1,"environment":["CI"],"path":["/opt/x/bin"]}', 0o600);
    const added = { path: ['~/.cargo/bin'], readable: ['~/.rustup'] };
    const file = addPrograms(at('config'), at('ws'), [added]);
    addPrograms(at('config'), at('ws'), [added]);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      version: 1,
      environment: ['CI'],
      path: ['/opt/x/bin', '~/.cargo/bin'],
      readable: ['~/.rustup'],
    });
    put('config/runner.json', '{"version":2}', 0o600);
    expect(() => addPrograms(at('config'), at('ws'), [added])).toThrow('version');
  });
});
