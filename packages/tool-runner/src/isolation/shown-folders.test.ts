import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkShownFolders } from './shown-folders.ts';

let parent: string;
beforeEach(() => {
  parent = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-shown-')));
  for (const folder of ['ws/src', 'home/.ssh', 'home/.cargo/bin', 'home/tools', 'state', 'config', 'sdk/bin'])
    mkdirSync(join(parent, folder), { recursive: true });
});
afterEach(() => rmSync(parent, { recursive: true }));

const check = (entry: string) => {
  const places = { root: 'ws', home: 'home', stateFolder: 'state', configFolder: 'config' };
  const forbidden = Object.fromEntries(
    Object.entries(places).map(([name, path]) => [name, join(parent, path)]),
  );
  const path = entry.startsWith('@') ? join(parent, entry.slice(1)) : entry;
  const [found] = checkShownFolders([path], forbidden as never);
  return found?.state === 'refused' ? found.problem.replace(parent, '') : found?.state;
};

describe('[RN-5] folders that runner.json lets commands read', () => {
  it.each(['@sdk', '@sdk/bin', '@home/.cargo/bin', '~/.cargo', '~/tools', '/usr/share'])(
    'shows %s',
    (entry) => {
      expect(check(entry)).toBe('shown');
    },
  );

  it.each([
    ['/', 'it belongs to the system'],
    ['@', 'it contains your home folder'],
    ['~/', 'it contains your home folder'],
    ['@home', 'it contains your home folder'],
    ['@sdk/../home/', 'it contains your home folder'],
    ['/home', "it contains other people's folders"],
    ['/var', 'it belongs to the system'],
    ['/etc', 'it belongs to the system'],
    ['/etc/ssl/private', 'it belongs to the system'],
    ['/proc/self/root', 'it belongs to the system'],
    ['/tmp', 'it belongs to the system'],
    ['~/.ssh', 'it contains or lies in /home/.ssh, which is sensitive'],
    ['~/.ssh/keys', 'it contains or lies in /home/.ssh, which is sensitive'],
    ['~/.aws', 'it contains or lies in /home/.aws, which is sensitive'],
    ['~/.config', 'it contains or lies in /home/.config/gcloud, which is sensitive'],
    ['~/.local', 'it contains or lies in /home/.local/state/countersign, which is sensitive'],
    ['@state', 'it contains or lies in /state, which is sensitive'],
    ['@config/deep', 'it contains or lies in /config, which is sensitive'],
    ['@sdk/.kube/cache', 'it is sensitive: directory with keys and credentials'],
    ['@sdk/a:b', 'its name is not UTF-8, or has a colon in it'],
  ])('[VA-2] refuses %s: %s', (entry, problem) => {
    expect(check(entry)).toBe(problem);
  });

  it('[VA-2] refuses a link to such a folder, on any component, and a folder that such a link leads to', () => {
    symlinkSync(join(parent, 'home/.ssh'), join(parent, 'sdk/innocent'));
    symlinkSync(join(parent, 'home'), join(parent, 'sdk/up'));
    symlinkSync('/', join(parent, 'sdk/all'));
    mkdirSync(join(parent, 'vault/keys'), { recursive: true });
    symlinkSync(join(parent, 'vault/keys'), join(parent, 'home/.gnupg'));
    expect(check('@sdk/innocent')).toBe('it contains or lies in /home/.ssh, which is sensitive');
    expect(check('@sdk/up/.ssh')).toBe('it is sensitive: directory with keys and credentials');
    expect(check('@sdk/up')).toBe('it contains your home folder');
    expect(check('@sdk/all/etc')).toBe('it belongs to the system');
    expect(check('@vault')).toBe('it contains or lies in /vault/keys, which is sensitive');
  });

  it('leaves out what does not exist, and the workspace', () => {
    writeFileSync(join(parent, 'sdk/file'), '');
    expect(['@gone', '@sdk/file', '@ws', '@ws/src'].map(check)).toEqual([
      'missing',
      'missing',
      'in workspace',
      'in workspace',
    ]);
  });
});
