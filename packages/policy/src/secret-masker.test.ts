import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readableTexts, secretFields, secretSpellings } from './secret-masker.test-data.ts';
import { SecretMasker } from './secret-masker.ts';

const digest = (text: string): string => `d${text.length}`;
const masker = new SecretMasker({ known: ['correct-horse-battery', 'horse'], digest });
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const random = (length: number) =>
  fc.string({ unit: fc.constantFrom(...alphabet), minLength: length, maxLength: length });

/** A secret of a known shape, made anew each time, with the part that must not be seen afterwards. */
const seededSecret = fc.oneof(
  random(36).map((tail) => ({ text: `ghp_${tail}`, secret: tail })),
  fc
    .string({ unit: fc.constantFrom(...alphabet.slice(0, 26)), minLength: 16, maxLength: 16 })
    .map((tail) => ({ text: `AKIA${tail}`, secret: tail })),
  random(40).map((tail) => ({ text: `sk-ant-${tail}`, secret: tail })),
  random(24).map((tail) => ({ text: `sk_live_${tail}`, secret: tail })),
  random(36).map((tail) => ({ text: `npm_${tail}`, secret: tail })),
  random(20).map((tail) => ({ text: `xoxb-${tail}`, secret: tail })),
  random(60).map((tail) => ({
    text: `eyJ${tail.slice(0, 20)}.${tail.slice(20, 40)}.${tail.slice(40)}`,
    secret: tail.slice(40),
  })),
  random(20).map((tail) => ({ text: `password=${tail}`, secret: tail })),
  random(20).map((tail) => ({ text: `API_KEY: "${tail}"`, secret: tail })),
  random(20).map((tail) => ({ text: `Authorization: Bearer ${tail}`, secret: tail })),
  random(20).map((tail) => ({ text: `https://user:${tail}@example.org/x`, secret: tail })),
  random(64).map((tail) => ({
    text: `-----BEGIN RSA PRIVATE KEY-----\n${tail}\n-----END RSA PRIVATE KEY-----`,
    secret: tail,
  })),
  fc.constant({ text: 'correct-horse-battery', secret: 'horse-battery' }),
  ...secretSpellings.map((spell) => random(20).map((tail) => ({ text: spell(tail), secret: tail }))),
);

describe('[DA-3] SecretMasker', () => {
  it('never lets a seeded secret through, wherever it stands', () => {
    fc.assert(
      fc.property(
        seededSecret,
        fc.string({ maxLength: 200 }),
        fc.string({ maxLength: 200 }),
        ({ text, secret }, before, after) => {
          // A letter glued to the secret would make it another word; everything else may surround it.
          const line = `${before} ${text} ${after}`;
          return (
            !masker.maskText(line).includes(secret) &&
            !JSON.stringify(masker.maskValue({ args: ['x', line] })).includes(secret)
          );
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('masks a field whose name says secret, whatever the value looks like', () => {
    expect(
      masker.maskValue({
        password: 'a',
        db_token: 'b',
        nested: [{ apiKey: 'c', 'api-key': 7 }],
        path: 'src/a.ts',
      }),
    ).toEqual({
      password: '[masked]',
      db_token: '[masked]',
      nested: [{ apiKey: '[masked]', 'api-key': '[masked]' }],
      path: 'src/a.ts',
    });
  });

  it('masks all below a secret field, what follows a secret option, and the value of a secret name', () => {
    for (const value of secretFields) expect(JSON.stringify(masker.maskValue(value))).not.toContain('X1');
    expect(masker.maskValue({ max_tokens: 5, input_tokens: 7, args: ['--verbose', 'X1'] })).toEqual({
      max_tokens: 5,
      input_tokens: 7,
      args: ['--verbose', 'X1'],
    });
  });

  it('finds a known secret in JSON, percent-encoded, and in base64 at any offset', () => {
    const secret = 'p@ss"w/rd+ж!';
    const knowing = new SecretMasker({ known: [secret], digest });
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    for (const text of [
      JSON.stringify({ a: secret }),
      encodeURIComponent(secret),
      base64(secret),
      base64(`u:${secret}`),
      base64(`us:${secret} and more`),
      Buffer.from(`user:${secret}`).toString('base64url'),
    ]) {
      expect([text, knowing.maskText(text)]).toEqual([text, expect.stringContaining('[masked]')]);
    }
  });

  it('does not record values that are deeper than any tool has', () => {
    let deep: unknown = 'x';
    for (let i = 0; i < 20_000; i++) deep = [deep];
    expect(JSON.stringify(masker.maskValue(deep))).toContain('too deep');
  });

  it('[DA-3] records a long value by its beginning, however short its pieces', () => {
    const lines = Array.from({ length: 100_000 }, (_, i) => `line ${i}`);
    for (const long of [
      { files: lines },
      { rows: lines.map((line) => [line]) },
      Object.fromEntries(lines.map((line) => [line, 1])),
      { numbers: lines.map((_, i) => i) },
    ]) {
      const recorded = JSON.stringify(masker.maskValue(long));
      expect(recorded.length).toBeLessThan(40_000);
      expect(recorded).toMatch(/\[\d+ more, digest /);
    }
    const { files } = masker.maskValue({ files: lines }) as { files: string[] };
    expect(files.slice(0, 2)).toEqual(['line 0', 'line 1']);
    expect(files.at(-1)).toContain(`[${100_000 - files.length + 1} more, digest `);
    // A secret after the point where recording stops must not show either.
    expect(JSON.stringify(masker.maskValue({ files: lines, password: 'X1' }))).not.toContain('X1');
  });

  it('keeps what is not secret readable', () => {
    for (const text of readableTexts) {
      expect(masker.maskText(text)).toBe(text);
    }
    expect(masker.maskText('curl -H "Authorization: Bearer abcdefghijkl" x')).toContain('Authorization: ');
    expect(masker.maskText('API_KEY=abc npm test')).toBe('API_KEY=[masked] npm test');
  });

  it('records long contents as size and digest', () => {
    expect(masker.maskText('ж'.repeat(1025))).toBe('[2050 bytes, digest d1025]');
    expect(masker.maskText('x'.repeat(2048))).toBe('x'.repeat(2048));
    expect(masker.maskValue({ content: 'x'.repeat(3000), n: 1, ok: true, none: null })).toEqual({
      content: '[3000 bytes, digest d3000]',
      n: 1,
      ok: true,
      none: null,
    });
  });

  it('is not fooled by keys such as __proto__, and is not stalled by long runs', () => {
    expect(JSON.stringify(masker.maskValue(JSON.parse('{"__proto__": {"token": "x"}}')))).toBe(
      '{"__proto__":{"token":"[masked]"}}',
    );
    for (const text of [
      'a'.repeat(2000),
      'token='.repeat(300),
      '://'.repeat(600),
      `-----BEGIN ${'A '.repeat(900)}`,
      'eyJ.'.repeat(400),
    ]) {
      expect(typeof masker.maskText(text)).toBe('string');
    }
  });
});
