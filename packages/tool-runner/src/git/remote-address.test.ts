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
  ['/nowhere/in/particular', 'refused'],
  ['./a:b', 'refused'],
  ['file:///nowhere/in/particular', 'refused'],
])('[RN-6] %j is %s', (url, kind) => {
  expect(readRemoteAddress(url, '/workspace').kind).toBe(kind);
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
