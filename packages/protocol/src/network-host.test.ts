import { describe, expect, it } from 'vitest';
import { hostAndPort, namesHost, readNetworkHost } from './network-host.ts';
import { parseToolCall } from './tools/catalogue.ts';

describe('[RN-5] a host by its name', () => {
  it.each([
    ['api.example.org', 'api.example.org'],
    ['API.Example.ORG', 'api.example.org'],
    ['api.example.org.', 'api.example.org'],
    ['api.example.org:8443', 'api.example.org:8443'],
    ['api.example.org.:443', 'api.example.org:443'],
    ['пример.рф', 'xn--e1afmkfd.xn--p1ai'],
    ['аpple.example', 'xn--pple-43d.example'], // a Cyrillic letter
    ['registry', 'registry'],
    ['10.0.0.7:80', '10.0.0.7:80'],
    ['[2001:DB8:0::7]:8080', '[2001:db8::7]:8080'],
  ])('%s is %s', (text, host) => {
    expect(readNetworkHost(text)).toBe(host);
  });

  it.each([
    '',
    '.',
    '*',
    '*.example.org',
    'https://example.org',
    'example.org/path',
    'ann@example.org',
    'example.org:0',
    'example.org:65536',
    'example.org:http',
    'a b',
    'a,b',
    'a\nb',
    '-a.example',
    'a..b',
    'a%2eb',
    'a'.repeat(64),
    '2001:db8::7',
    // This machine, by any spelling
    'localhost',
    'LOCALHOST.',
    'app.localhost',
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f.1',
    '0.0.0.0',
    '0',
    '169.254.169.254',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:0.0.0.0]',
    '[::ffff:169.254.169.254]',
    '[fe80::1]',
  ])('[AP-9] %j is none', (text) => {
    expect(readNetworkHost(text)).toBeUndefined();
  });

  it('stands for the ports of the web, or for the one that is named', () => {
    const hosts = ['a.example', 'b.example:8443'];
    expect([80, 443, 22].map((port) => namesHost(hosts, 'a.example', port))).toEqual([true, true, false]);
    expect([443, 8443].map((port) => namesHost(hosts, 'b.example', port))).toEqual([false, true]);
    expect([hostAndPort('a.example', 443), hostAndPort('a.example', 22)]).toEqual([
      'a.example',
      'a.example:22',
    ]);
  });
});

describe('[TL-1] the parameter network', () => {
  const parse = (network: unknown) =>
    (['execute_command', 'shell_exec'] as const).map((tool) => {
      const parsed = parseToolCall(tool, { command: 'ls', network });
      return parsed.ok ? (parsed.call.params as { network?: unknown }).network : parsed.error.code;
    });

  it.each([true, false, undefined])('may be %s', (network) => {
    expect(parse(network)).toEqual([network, network]);
  });

  it('names hosts, each in one spelling', () => {
    const hosts = ['api.example.org', 'xn--e1afmkfd.xn--p1ai:8443'];
    expect(parse(['API.example.org.', 'пример.рф:8443'])).toEqual([hosts, hosts]);
  });

  it.each([
    [[]],
    [['localhost']],
    [['*']],
    [['a.example', 7]],
    [Array.from({ length: 21 }, (_, n) => `h${n}.example`)],
    ['api.example.org'],
    [1],
  ])('is not %j', (network) => {
    expect(parse(network)).toEqual(['INVALID_PARAMS', 'INVALID_PARAMS']);
  });
});
