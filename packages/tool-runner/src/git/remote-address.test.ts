import { expect, it } from 'vitest';
import { hidePasswords, readRemoteAddress } from './remote-address.ts';

it.each([
  ['https://example.org/x', 'network'],
  ['http://example.org/x', 'network'],
  ['ssh://git@example.org:22/x', 'network'],
  ['git@example.org:x/y.git', 'network'],
  ['host:x', 'network'],
  ['git://example.org/x', 'refused'],
  ['ftp://example.org/x', 'refused'],
  ['ext::sh -c id', 'refused'],
  ['fd::3', 'refused'],
  ['transport::https://example.org', 'refused'],
  ['ssh://-oProxyCommand=id/x', 'refused'],
  ['ssh://git@-oProxyCommand=id/x', 'refused'],
  ['-oProxyCommand=id:x', 'refused'],
  ['git@-oProxyCommand=id:x', 'refused'],
  ['', 'refused'],
  ['https://example.org/\nx', 'refused'],
  ['https://example.org%0ahost=github.com/x', 'refused'],
  ['https://example.org\\@evil.example/x', 'refused'],
  ['https://example.org#@evil.example/x', 'refused'],
  ['https://example.org?@evil.example/x', 'refused'],
  ['https://exa mple.org/x', 'refused'],
  ['https://example.org/x\u2028y', 'refused'],
  ['git@example.org:a name/x.git', 'network'],
  ['ssh://[::1]:22/x', 'network'],
  ['/nowhere/in/particular', 'refused'],
  ['./a:b', 'refused'],
  ['file:///nowhere/in/particular', 'refused'],
])('[RN-6] %j is %s', (url, kind) => {
  expect(readRemoteAddress(url, '/workspace').kind).toBe(kind);
});

it.each([
  ['https://example.org/x', true],
  ['https://ada@example.org/x', true],
  ['git@example.org:x', true],
  ['ssh://git:word@example.org/x', true],
  ['http://localhost:3000/x', true],
  ['http://[::1]:3000/x', true],
  ['http://example.org/x', false],
  ['http://localhost.example.org/x', false],
  ['http://127.0.0.1.example.org/x', false],
  ['https://ada:word@example.org/x', false],
])("[RN-6] %j may ask for the person's login: %j", (url, may) => {
  expect(readRemoteAddress(url, '/workspace')).toMatchObject({ kind: 'network', mayAskForLogin: may });
});

it.each([
  ['https://ada:hunter2@example.org/x', 'https://ada:***@example.org/x'],
  ['https://ada:hun@ter2@example.org/x', 'https://ada:***@example.org/x'],
  ['https://token@example.org/x', 'https://***@example.org/x'],
  ['ssh://git@example.org/x', 'ssh://git@example.org/x'],
  ['git@example.org:x', 'git@example.org:x'],
  [
    "unable to access 'http://a:b@c/': no; http://d:e@f/",
    "unable to access 'http://a:***@c/': no; http://d:***@f/",
  ],
])('[AP-7] shows no password in %j', (url, shown) => {
  expect(hidePasswords(url)).toBe(shown);
});
