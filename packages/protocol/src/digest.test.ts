import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { canonicalJson, checkShown, digestOf, type ShownCall, shownDigest } from './digest.ts';

interface Digests {
  readonly values: readonly { about: string; value: unknown; json: string; digest: string }[];
  readonly repeated: readonly { about: string; key: string; unit: string; times: number; digest: string }[];
  readonly shown: readonly (ShownCall & { digest: string })[];
}
const fixtures = JSON.parse(
  readFileSync(new URL('../fixtures/digests.json', import.meta.url), 'utf8'),
) as Digests;
const sha256 = (text: string): string => hash('sha256', text);

describe('[AP-8] digestOf', () => {
  it.each(fixtures.values)('of $about is that of its canonical JSON', ({ value, json, digest }) => {
    expect(canonicalJson(value)).toBe(json);
    expect(digestOf(value)).toBe(digest);
    expect(digest).toBe(`sha256:${sha256(json)}`);
  });

  it.each(fixtures.repeated)("$about, by Node's hash as by the portable one", (example) => {
    const value = { [example.key]: example.unit.repeat(example.times) };
    expect(digestOf(value)).toBe(example.digest);
    expect(digestOf(value, sha256)).toBe(example.digest);
  });

  it('does not depend on the order of keys, nor on keys without a value', () => {
    expect(digestOf({ a: 1, b: { c: 2, d: 3 } })).toBe(digestOf({ b: { d: 3, c: 2, e: undefined }, a: 1 }));
  });

  it('tells half a character from another one, in short texts and in long ones', () => {
    expect(digestOf('\ud800')).not.toBe(digestOf('\ud801'));
    const long = 'x'.repeat(70_000);
    expect(digestOf(`${long}\ud800`)).not.toBe(digestOf(`${long}\ud801`));
  });
});

describe('[AP-8] shownDigest', () => {
  it.each(fixtures.shown)('of $tool_name covers everything that the card shows', (shown) => {
    expect(shownDigest(shown)).toBe(shown.digest);
    const others: Partial<ShownCall>[] = [
      { digest_base: `sha256:${'6'.repeat(64)}` },
      { tool_name: 'shell_exec' },
      { tool_params: { ...shown.tool_params, more: 1 } },
      { risk_level: 'HIGH' },
      { preview: { kind: 'summary', summary: 'nothing much' } },
    ];
    for (const other of others) expect(shownDigest({ ...shown, ...other })).not.toBe(shown.digest);
  });
});

describe('[AP-8] checkShown', () => {
  const [shown] = fixtures.shown as [ShownCall & { digest: string }];
  const other = { kind: 'summary', summary: 'nothing much' } as const;

  it.each([
    ['a card as it was digested', {}, 'fits'],
    ['a card without preview and digest', { preview: null, digest: null, digest_base: null }, 'none'],
    ['another preview', { preview: other }, 'differs'],
    ['other parameters', { tool_params: {} }, 'differs'],
    ['a lower risk', { risk_level: 'LOW' }, 'differs'],
    ['a preview without a digest', { digest: null }, 'differs'],
    ['a preview without its base', { digest_base: null }, 'differs'],
    ['a digest without a preview', { preview: null }, 'differs'],
    ['a preview that was left out', { preview: null, omitted: ['preview'] }, 'partial'],
    ['parameters that were left out', { tool_params: {}, omitted: ['tool_params'] }, 'partial'],
    [
      'the word of a runner that refuses',
      { preview: { kind: 'unavailable', reason: 'denied' }, digest: null },
      'none',
    ],
  ] as const)('says of %s what may be done with it', (_about, change, answer) => {
    expect(checkShown({ ...shown, ...change } as never)).toBe(answer);
  });
});
