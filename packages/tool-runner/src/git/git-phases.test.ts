import { describe, expect, it } from 'vitest';
import { GitPhases, GitProgressLines } from './git-phases.ts';

describe('GitPhases', () => {
  it('[EV-1] reports the progress of all phases together (founding documents: tool-system)', () => {
    const phases = new GitPhases();
    const lines = [
      'remote: Counting objects: 100% (8/8), done.',
      'Receiving objects:   0% (1/800)',
      'Receiving objects:  50% (400/800), 1.20 MiB | 2.40 MiB/s',
      'Resolving deltas: 100% (5/5), done.',
      'Updating files:  50% (1/2)',
    ];
    expect(lines.map((line) => phases.read(line))).toEqual([
      { percent: 5, message: 'Counting objects: 100% (8/8)' },
      { percent: 20, message: 'Receiving objects: 0% (1/800)' },
      { percent: 55, message: 'Receiving objects: 50% (400/800)' },
      { percent: 95, message: 'Resolving deltas: 100% (5/5)' },
      { percent: 98, message: 'Updating files: 50% (1/2)' },
    ]);
  });

  it('counts the only phase of a checkout as the whole', () => {
    const phases = new GitPhases();
    expect(phases.read('Updating files:  50% (1/2)')).toMatchObject({ percent: 50 });
    expect(phases.read('Updating files: 100% (2/2), done.')).toMatchObject({ percent: 100 });
  });

  it('leaves other lines alone', () => {
    const phases = new GitPhases();
    const lines = ['remote: hello', 'Coverage: 50% (1/2)', 'error: failed to push', '50% (1/2)'];
    expect(lines.map((line) => phases.read(line))).toEqual(lines.map(() => undefined));
    expect(phases.read('Total 3 (delta 0), reused 0 (delta 0), pack-reused 0')).toBe('silent');
  });
});

it('takes progress out of what git prints, however it is cut', () => {
  const text =
    'Enumerating objects: 5, done.\nCounting objects:  20% (1/5)\rCounting objects: 100% (5/5), done.\nremote: hi\nTotal 3 (delta 0), reused 0\nerror: no';
  for (const size of [1, 7, 1000]) {
    const lines = new GitProgressLines();
    let left = '';
    for (let at = 0; at < text.length; at += size) left += lines.push(text.slice(at, at + size));
    left += lines.end();
    expect([left, lines.latest]).toEqual([
      'remote: hi\nerror: no',
      { percent: 5, message: 'Counting objects: 100% (5/5)' },
    ]);
  }
});
