import { describe, expect, it } from 'vitest';
import { fileMatches } from './file-matches.ts';

const paths = ['README.md', 'src/main.ts', 'src/domain.ts', 'main/readme.txt', 'src/many-lines.ts'];

describe('files for a mention', () => {
  it.each([
    ['main', ['src/main.ts', 'src/domain.ts', 'main/readme.txt', 'src/many-lines.ts']],
    ['READ', ['README.md', 'main/readme.txt']],
    ['src/ma', ['src/main.ts', 'src/many-lines.ts', 'src/domain.ts']],
    ['zzz', []],
    ['', ['README.md', 'src/main.ts', 'src/domain.ts', 'main/readme.txt', 'src/many-lines.ts']],
  ])('"%s" finds %j', (typed, found) => {
    expect(fileMatches(paths, typed, 10)).toEqual(found);
  });

  it('are not more than asked for', () => {
    expect(fileMatches(paths, '', 2)).toHaveLength(2);
  });
});
