import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { GatePass } from './gate-pass.ts';

function passThatAsks(answers: Readonly<Record<string, boolean>>) {
  const asked: string[] = [];
  let open = 0;
  let mostOpen = 0;
  const ask = async (host: string): Promise<boolean> => {
    asked.push(host);
    open += 1;
    mostOpen = Math.max(mostOpen, open);
    await wait(20);
    open -= 1;
    return answers[host] ?? false;
  };
  const pass = new GatePass(['named.example'], ask, () => {});
  return { pass, asked, mostOpen: () => mostOpen };
}
const outcome = (allowed: Promise<void>): Promise<string> =>
  allowed.then(
    () => 'allowed',
    ({ message }: Error) => message,
  );

describe('[RN-5] a host that the card did not name', () => {
  it('is asked about once, in its one spelling, and one host at a time', async () => {
    const { pass, asked, mostOpen } = passThatAsks({ 'a.example': true });
    const wanted: [string, number][] = [
      ['named.example', 443],
      ['a.example', 443],
      ['A.Example.', 80],
      ['b.example', 443],
      ['a.example', 8443],
    ];
    const outcomes = await Promise.all(
      wanted.map(([host, port]) => outcome(pass.require(host, port, false))),
    );
    expect(outcomes).toEqual([
      'allowed',
      'allowed',
      'allowed',
      'the person did not allow this command to reach b.example',
      'the person did not allow this command to reach a.example:8443',
    ]);
    expect([asked, mostOpen()]).toEqual([['a.example', 'b.example', 'a.example:8443'], 1]);
    expect(await outcome(pass.require('b.example', 443, false))).toContain('did not allow');
    expect([asked.length, pass.rejected, pass.refused]).toEqual([3, ['b.example', 'a.example:8443'], []]);
    expect(pass.heldMs).toBeGreaterThan(50);
  });

  it('is never this machine, and the person is not asked about it', async () => {
    const { pass, asked } = passThatAsks({});
    for (const host of [
      'localhost',
      'x.localhost',
      '127.0.0.1',
      '[::1]',
      '[::ffff:7f00:1]',
      '169.254.169.254',
    ])
      expect(await outcome(pass.require(host, 80, false))).toContain('is not a host that commands can reach');
    expect(asked).toEqual([]);
  });

  it('is asked about a limited number of times', async () => {
    const { pass, asked } = passThatAsks({});
    for (let n = 0; n < 25; n += 1) await outcome(pass.require(`h${n}.example`, 443, false));
    expect([asked.length, pass.rejected.length, pass.refused.length]).toEqual([20, 20, 5]);
  });
});
