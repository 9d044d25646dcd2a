import { describe, expect, it } from 'vitest';
import { promptText } from './prompt-text.ts';

describe('promptText', () => {
  it('contains the message and the attachments, as text', () => {
    expect(
      promptText([
        { type: 'text', text: 'Look at ' },
        { type: 'resource_link', name: 'a', uri: 'file:///w/a.ts' },
        { type: 'resource', resource: { uri: 'file:///w/b.ts', text: 'const b = 1;' } },
        { type: 'resource', resource: { uri: 'file:///w/c.png', blob: 'AAAA' } },
        { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      ]),
    ).toBe('Look at \nfile:///w/a.ts\n\nfile:///w/b.ts\n```\nconst b = 1;\n```\n\nfile:///w/c.png');
  });
});
