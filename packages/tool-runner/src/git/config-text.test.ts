import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { type ConfigEntry, parseConfigList, setting, writeConfig } from './config-text.ts';

it('writes what git reads back, whatever the names and values are', () => {
  const entries: ConfigEntry[] = [
    setting('core.bare', 'false'),
    setting('remote.origin.url', 'https://example.org/"quoted" # no comment ; none'),
    setting('filter.a.b=c]".clean', 'back\\slash \\n and\nline feed\t '),
    setting('user.name', Buffer.from('Grüße').toString('latin1')),
    setting('user.name', '\xff\x01'),
    setting('alias.empty', ''),
    { section: 'branch', subsection: '', name: 'remote', value: 'x' },
  ];
  const list = execFileSync('git', ['config', '--file', '-', '--list', '-z'], {
    input: writeConfig(entries),
  });
  expect(parseConfigList(list)).toEqual(entries);
});

it('takes a name without a value as true', () => {
  const list = execFileSync('git', ['config', '--file', '-', '--list', '-z'], { input: '[core]\n\tbare\n' });
  expect(parseConfigList(list)).toEqual([setting('core.bare', 'true')]);
});
