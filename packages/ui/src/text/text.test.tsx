// @vitest-environment happy-dom

import { callSummary } from '@countersign/approvals';
import { cleanup, render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, describe, expect, it } from 'vitest';
import { languages, preferredLanguage } from '../words/words.ts';
import { byteSize, clockTime, duration } from './duration.ts';
import { JsonView } from './json-view.tsx';
import { moment, shortMoment } from './time-text.ts';

const english = languages.en;

afterEach(cleanup);

describe('times and sizes', () => {
  it('are short', () => {
    expect([0, 999, 61_000, 3_661_000, -5].map(clockTime)).toEqual([
      '0:00',
      '0:01',
      '1:01',
      '1:01:01',
      '0:00',
    ]);
    expect([12.4, 1500, 42_000, 300_000, 5_400_000].map((ms) => duration(ms, english))).toEqual([
      '12 ms',
      '1.5 s',
      '42 s',
      '5 min',
      '1.5 h',
    ]);
    expect([1, 5, 2048, 3 * 1024 * 1024].map((bytes) => byteSize(bytes, english))).toEqual([
      '1 byte',
      '5 bytes',
      '2.0 KiB',
      '3.0 MiB',
    ]);
  });

  it('name the day only when it is another one', () => {
    const now = new Date(2026, 1, 21, 12, 0);
    const today = new Date(2026, 1, 21, 9, 5, 7).toISOString();
    const before = new Date(2026, 1, 20, 9, 5, 7).toISOString();
    expect(moment(today, 'en', now)).toBe('09:05:07');
    expect(moment(before, 'en', now)).toMatch(/Feb 20.*09:05/);
    expect(shortMoment(today, 'en', now)).toBe('09:05');
    expect(shortMoment(before, 'en', now)).toBe('Feb 20');
  });
});

describe('a call in a few words', () => {
  it.each([
    [{ command: 'npm', args: ['run', 'a b', 3] }, 'npm run "a b" 3'],
    [{ command: 'ls -la' }, 'ls -la'],
    [{ source: 'a', dest: 'b' }, 'a → b'],
    [{ path: 'a.md', content: 'x' }, 'a.md'],
    [{ message: 'Fix', files: [] }, 'Fix'],
    [{ staged: true }, ''],
  ])('%j', (params, text) => expect(callSummary(params)).toBe(text));
});

describe('values', () => {
  it('that are long are shown in part first', async () => {
    const { container } = render(<JsonView value={'x'.repeat(20_010)} />);
    expect(container.querySelector('pre')?.textContent).toHaveLength(20_000);
    await userEvent.click(screen.getByRole('button', { name: '… 10 more characters' }));
    expect(container.querySelector('pre')?.textContent).toHaveLength(20_010);
  });
});

describe('languages', () => {
  it('follow the browser', () => {
    expect(preferredLanguage(['fr-FR', 'ru-RU', 'en'])).toBe('ru');
    expect(preferredLanguage(['fr'])).toBe('en');
  });
});
