import { describe, expect, it } from 'vitest';
import { fenced, promptText } from './prompt-text.ts';

describe('promptText', () => {
  it('has what was written and what was attached, as text', () => {
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

  it('[UI-6] cannot be left by what stands in it', () => {
    expect(fenced('```\n# not a heading\n````x')).toBe('`````\n```\n# not a heading\n````x\n`````');
    expect(fenced('plain\n')).toBe('```\nplain\n```');
  });
});
