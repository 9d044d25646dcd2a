import { describe, expect, it } from 'vitest';
import { withoutStyles } from '../screen/text-width.ts';
import { MarkdownStream, markdownLines } from './markdown-lines.ts';

const plain = (text: string, columns = 60) => markdownLines(text, columns, false);

describe('markdown in a terminal', () => {
  it('draws headings, emphasis, code and links', () => {
    const [title, , line] = markdownLines(
      '# Title\n\nA **bold** and *slanted* `code` [text](https://a.example) &amp; <b>tag</b>',
      80,
      true,
    );
    expect(title).toBe('\u001b[1;4mTitle\u001b[0m');
    expect(line).toContain('\u001b[1mbold\u001b[0m');
    expect(line).toContain('\u001b[3mslanted\u001b[0m');
    expect(line).toContain('\u001b[36mcode\u001b[0m');
    expect(withoutStyles(line ?? '')).toBe('A bold and slanted code text (https://a.example) & <b>tag</b>');
  });

  it('draws lists, with what is below an item indented', () => {
    expect(plain('- one\n  - two\n- [x] done\n- [ ] open\n\n3. three\n4. four')).toEqual([
      '• one',
      '  • two',
      '☑ done',
      '☐ open',
      '',
      '3. three',
      '4. four',
    ]);
    expect(plain('- a long item that wraps', 16)).toEqual(['• a long item', '  that wraps']);
  });

  it('draws tables in columns, narrower where they do not fit', () => {
    expect(plain('| name | n |\n|---|--:|\n| alpha | 1 |\n| b | 200 |')).toEqual([
      'name  │   n',
      '──────┼────',
      'alpha │   1',
      'b     │ 200',
    ]);
    const narrow = plain('| a | b |\n|---|---|\n| some longer text here | x |', 16);
    expect(narrow.slice(2)).toEqual(['some longer  │ x', 'text here    │  ']);
  });

  it('draws code as it is, and quotes', () => {
    expect(plain('```js\nif (a) {\n  **b**\n}\n```\n\n> said\n> so')).toEqual([
      '  if (a) {',
      '    **b**',
      '  }',
      '',
      '│ said',
      '│ so',
    ]);
  });

  it('[UI-6] shows control characters as text, and never loses text', () => {
    expect(plain('a\u001b[2Jb `\u202e`')).toEqual(['a⟨U+001B⟩[2Jb ⟨U+202E⟩']);
    const word = 'x'.repeat(100);
    expect(plain(word, 30).join('')).toBe(word);
    const huge = `| a |\n|---|\n${'| row |\n'.repeat(20_000)}`;
    expect(plain(huge).filter((line) => line.includes('row'))).toHaveLength(20_000);
    for (const rubbish of ['', '**', '```', '|', '> > >', '- \n-', '[](', '\u0000'])
      expect(() => plain(rubbish)).not.toThrow();
  });
});

describe('markdown while it is written', () => {
  it('returns a block once it is complete, with the unfinished text as its tail', () => {
    const stream = new MarkdownStream();
    const push = (...lines: string[]) => stream.push(lines, 40, false);
    expect(push('# Title')).toEqual([]);
    expect(push('')).toEqual([]);
    expect(stream.tail('| a', 40, false)).toEqual(['Title', '', '| a']);
    expect(push('| a | b |')).toEqual(['Title']);
    expect(push('|---|---|', '| 1 | 2 |')).toEqual([]);
    expect(stream.tail('', 40, false)).toEqual(['', 'a │ b', '──┼──', '1 │ 2']);
    expect(push('', 'end')).toEqual(['', 'a │ b', '──┼──', '1 │ 2']);
    expect(stream.end(40, false)).toEqual(['', 'end']);
    expect([stream.end(40, false), stream.tail('', 40, false)]).toEqual([[], []]);
  });

  it('draws the same lines however the text is split', () => {
    const text = '# A\u0007\n\nb\tc\u202e\n\n- c\n- d\n\n```\ne\n\nf\n```\n\ng\n\n- c\n\ng\n';
    const stream = new MarkdownStream();
    const lines = text.split('\n').flatMap((line) => stream.push([line], 40, false));
    expect([...lines, ...stream.end(40, false)]).toEqual(markdownLines(text, 40, false));
  });
});
