import { expect, it } from 'vitest';
import { harmlessMarkdown } from './harmless-markdown.ts';

it('leaves code as it is', () => {
  for (const code of [
    'Use `Array<string>` or ``a`<b>``, then `c`.',
    '```html\n<script>x</script>\n```\nand `<b>`',
    '````md\n```\n<b>\n```\n````',
    '~~~\n<b>\n```\n~~~',
    '1. First\n\n   ```html\n   <b>\n\n   # x\n   ```\n2. Second',
    '| a | b |\n| --- | --- |\n| `<b>` | c |',
  ])
    expect(harmlessMarkdown(code)).toBe(code);
});

it.each([
  ['a tag', 'a <img src=x> b'],
  ['a tag after a backslash', '\\<img src=x> \\\\<img src=x>'],
  ['an escaped backtick', '\\`<img src=x>`'],
  ['a span of the line before', '`a\nb` <img src=x> `c`'],
  ['a span that a list ends', '`a\n- b` x `<img src=x>`'],
  ['a span that a cell ends', '| a |\n|---|\n| `a | b` `<img src=x>` |'],
  ['a fence with a backtick', '``` a`b\n<img src=x>\n```'],
  ['the end of a fence in a list', '- ```\n  x\n  ```\n<img src=x>'],
  ['the end of a fence in a quote', '> ```\n> x\n```\n```\n<img src=x>'],
  ['a fence that the end of its list ends', '- a\n\n  ```\nb\n\n<img src=x>\n  ```'],
  ['a backtick of an address', 'http://a`b"<img src=x>`'],
  ['a fence far to the right', 'a\n     ```\n     <img src=x>\n     ```'],
  ['a return as the end of a line', 'a\r```\rx\r```\r<img src=x>'],
])('a tag outside of code is text: %s', (_, markdown) => {
  const text = harmlessMarkdown(markdown);
  expect(text).toContain('&lt;img src=x>');
  expect(text).not.toContain('<');
});

it('loads no image and hides no text', () => {
  expect(harmlessMarkdown('![a](http://e) ![b][c]\n\n[c]: http://e\n[//]: # (hidden)')).toBe(
    '!\\[a](http://e) !\\[b][c]\n\n[c]\\: http://e\n[//]\\: # (hidden)',
  );
});

it('closes an open fence, and makes one text that cannot be closed', () => {
  expect(harmlessMarkdown('```\n<b>')).toBe('```\n<b>\n```');
  expect(harmlessMarkdown('> ```\n> a')).toBe('> \\`\\`\\`\n> a');
});

it('takes long texts in little time', () => {
  const started = performance.now();
  for (const text of ['`', '`a` ', '```\n', '  ```\n a\n', '  ```a\n', '[^', '<', '> - ', '`a'])
    harmlessMarkdown(`${text.repeat(100_000 / text.length)}\nend`);
  expect(performance.now() - started).toBeLessThan(5_000);
});
