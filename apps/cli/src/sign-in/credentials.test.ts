import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { wordsFor } from '../words.ts';
import { Credentials } from './credentials.ts';

let folder: string;
let credentials: Credentials;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-credentials-'));
  credentials = new Credentials(join(folder, 'countersign'), wordsFor({}));
});
afterEach(() => rmSync(folder, { recursive: true }));

const one = { token: 'one', expires_at: '2026-12-15T00:00:00Z' };
const two = { token: 'two', expires_at: '2026-12-15T00:00:00Z' };

describe('Credentials', () => {
  it('[RE-5] keeps one token for each server, for its owner alone', () => {
    expect([credentials.latest, credentials.find('http://a'), credentials.isOpenToOthers]).toEqual([
      undefined,
      undefined,
      false,
    ]);
    credentials.keep('http://a', one);
    credentials.keep('http://b', two);
    expect([credentials.latest, credentials.find('http://a'), credentials.find('http://b')]).toEqual([
      'http://b',
      one,
      two,
    ]);
    expect(credentials.find('toString')).toBe(undefined);
    expect(statSync(credentials.path).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'countersign')).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(folder, 'countersign'))).toEqual(['credentials.json']);
  });

  it('forgets one and means another then', () => {
    credentials.keep('http://a', one);
    credentials.keep('http://b', two);
    expect(credentials.forget('http://c')).toBe(undefined);
    expect(credentials.forget('http://b')).toEqual(two);
    expect(credentials.latest).toBe('http://a');
    expect(credentials.forget('http://a')).toEqual(one);
    expect([credentials.latest, existsSync(credentials.path)]).toEqual([undefined, true]);
  });

  it('reports a file that it cannot parse, and does not overwrite it', () => {
    mkdirSync(join(folder, 'countersign'));
    for (const text of ['{broken', '{"version": 2, "servers": {}}', '{"version": 1}']) {
      writeFileSync(credentials.path, text);
      expect(() => credentials.keep('http://a', one)).toThrow('cannot be read');
    }
    rmSync(credentials.path);
    mkdirSync(credentials.path);
    expect(() => credentials.latest).toThrow('cannot be read');
  });
});
