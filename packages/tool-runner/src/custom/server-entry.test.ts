import { describe, expect, it } from 'vitest';
import { maskedJson, maskerOf, readServerList, type ServerEntry, secretsOf } from './server-entry.ts';

const secrets = (entry: object) =>
  secretsOf(
    readServerList(JSON.stringify({ mcpServers: { a: entry } }), 'person', '/work').entries[0] as ServerEntry,
  );

describe('[RN-8] what of a configuration is secret', () => {
  it('is what a header, an address, an option or a variable keeps, and no mere word', () => {
    expect(
      secrets({ url: 'https://a.test/mcp?key=abc-123', headers: { Authorization: 'Bearer xyz-789' } }),
    ).toEqual(['Bearer xyz-789', 'xyz-789', 'abc-123']);
    const env = { NODE_ENV: 'production', LIMIT: '300000', TOKEN: 'opensesame', URL: 'pg://u:p@h', A: 'b' };
    expect(secrets({ command: 'a', env })).toEqual(['opensesame', 'pg://u:p@h']);
    const args = ['--api-key=abcdef', '--token', 'ghijkl', '--verbose', 'mnopqr', '--password', '--x'];
    expect(secrets({ command: 'a', args })).toEqual(['abcdef', 'ghijkl']);
  });

  it('is taken out of values and names, and what is left is still JSON', () => {
    const mask = maskerOf(['300000', '"type":"object"', 'hunter2']);
    const value = {
      type: 'object',
      hunter2: [{ a: 'my hunter2' }, 300000, null],
      say: 'it is "type":"object"',
    };
    expect(maskedJson({ ...value, b: { c: 1 } }, mask)).toEqual({
      type: 'object',
      '[masked]': [{ a: 'my [masked]' }, 300000, null],
      say: 'it is [masked]',
      b: { c: 1 },
    });
  });
});
