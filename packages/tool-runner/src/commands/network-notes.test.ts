import { describe, expect, it } from 'vitest';
import { noNetworkNote, refusedNotes } from './network-notes.ts';
import { SecretFilter } from './secret-filter.ts';

describe('[RN-5] what the agent learns about a network that it did not have', () => {
  it('names the refused hosts and how to ask for them', () => {
    expect([refusedNotes(), refusedNotes({ refused: [], rejected: [] })]).toEqual([[], []]);
    expect(refusedNotes({ refused: ['a.example', 'b.example:8443'] })).toEqual([
      'it wanted to reach a.example, b.example:8443, which its card did not name. To ask for that, call again with network: ["a.example","b.example:8443"] and what you named before',
    ]);
    expect(refusedNotes({ rejected: ['a.example'] })).toEqual([
      'it wanted to reach a.example; the person was asked and did not allow it. Do not try that again unless they say so',
    ]);
  });

  it.each([
    ['Error: getaddrinfo ENOTFOUND api.example.org\n    at x (node:dns)', 'api.example.org'],
    [
      'npm error request to https://npm.example/x failed, reason: getaddrinfo EAI_AGAIN npm.example',
      'npm.example',
    ],
    ['curl: (6) Could not resolve host: api.example.org', 'api.example.org'],
    [
      "fatal: unable to access 'https://git.example/x.git/': Could not resolve host: git.example",
      'git.example',
    ],
    ['wget: unable to resolve host address ‘a.example’', 'a.example'],
    ['dial tcp: lookup proxy.example on 127.0.0.53:53: no such host', 'proxy.example'],
    [
      'urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>',
      'the name of the host',
    ],
    [
      'go: m: Get "https://x.example/": dial tcp: lookup x.example on [::1]:53: read udp: connection refused',
      'x.example',
    ],
    ['[ERROR] java.net.UnknownHostException: maven.example', 'maven.example'],
    ["warning: spurious network error: [6] Couldn't resolve host name", 'the name of the host'],
    ['connect: Network is unreachable', 'the name of the host'],
    ['getaddrinfo ENOTFOUND localhost', 'the name of the host'],
  ])('%s', (output, host) => {
    expect(noNetworkNote(output)).toBe(
      `this command had no network. If it needs some, call again with network: ["${host}"]; the person is asked`,
    );
  });

  it.each(['', '3 tests failed', 'connect ECONNREFUSED 127.0.0.1:3000'])('is silent about %j', (output) => {
    expect(noNetworkNote(output)).toBeUndefined();
  });
});

describe('SecretFilter', () => {
  const secrets = ['abcabd', 'QUJD'];
  const filtered = (chunks: readonly string[]): string => {
    const filter = new SecretFilter(secrets);
    return [...chunks.map((chunk) => filter.push(Buffer.from(chunk))), filter.end()].join('');
  };

  it('masks a secret wherever the chunks are cut, and changes nothing else', () => {
    const text = 'ü abcabcabd QUJD abcab é QUJ';
    const bytes = Buffer.from(text);
    const filter = new SecretFilter(secrets);
    const oneByOne = [...bytes].map((byte) => filter.push(Buffer.from([byte])));
    expect(Buffer.concat([...oneByOne, filter.end()]).toString()).toBe('ü abc*** *** abcab é QUJ');
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const halves = new SecretFilter(secrets);
      const parts = [halves.push(bytes.subarray(0, cut)), halves.push(bytes.subarray(cut)), halves.end()];
      expect(Buffer.concat(parts).toString()).toBe('ü abc*** *** abcab é QUJ');
    }
    expect(filtered(['nothing here'])).toBe('nothing here');
  });
});
