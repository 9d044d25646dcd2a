import { ManualClock } from '@countersign/testing';
import { describe, expect, it } from 'vitest';
import { Attention, askDeliberately } from './attention.ts';

describe('[UI-6] attention', () => {
  it('is given half a second after the focus came', async () => {
    const clock = new ManualClock();
    const attention = new Attention(clock);
    expect(attention.isGiven).toBe(false);
    attention.focus(true);
    await clock.advance(499);
    expect(attention.isGiven).toBe(false);
    await clock.advance(1);
    expect(attention.isGiven).toBe(true);
  });

  it('begins anew when the focus was away, or what is displayed changed', async () => {
    const clock = new ManualClock();
    const attention = new Attention(clock);
    attention.focus(true);
    await clock.advance(600);
    attention.focus(false);
    attention.focus(true);
    expect(attention.isGiven).toBe(false);
    await clock.advance(600);
    attention.restart();
    expect(attention.isGiven).toBe(false);
    await clock.advance(600);
    expect(attention.isGiven).toBe(true);
  });

  it('counts for the pointer while it rests on the card, also when the focus leaves', async () => {
    const clock = new ManualClock();
    const attention = new Attention(clock);
    attention.pointer(true);
    attention.focus(true);
    await clock.advance(300);
    attention.focus(false);
    await clock.advance(300);
    attention.by('pointer');
    expect(attention.isGiven).toBe(true);
    attention.restart();
    expect(attention.isGiven).toBe(false);
    await clock.advance(500);
    expect(attention.isGiven).toBe(true);
    attention.pointer(false);
    expect(attention.isGiven).toBe(false);
  });

  it('counts for keys from the focus alone, wherever the pointer rests', async () => {
    const clock = new ManualClock();
    const attention = new Attention(clock);
    attention.pointer(true);
    await clock.advance(1000);
    attention.by('keyboard');
    expect(attention.isGiven).toBe(false);
    attention.focus(true);
    await clock.advance(499);
    expect(attention.isGiven).toBe(false);
    await clock.advance(1);
    expect(attention.isGiven).toBe(true);
  });

  it('of a finger is given by the card standing still in sight, and only of a finger', async () => {
    const clock = new ManualClock();
    const attention = new Attention(clock);
    attention.view(true);
    await clock.advance(400);
    attention.view(true); // seen again in the same place
    await clock.advance(100);
    attention.by('touch');
    expect(attention.isGiven).toBe(true);
    attention.by('pointer');
    expect(attention.isGiven).toBe(false);
    attention.by('keyboard');
    expect(attention.isGiven).toBe(false);
    attention.by('touch');
    attention.restart();
    expect(attention.isGiven).toBe(false);
    await clock.advance(500);
    attention.view(false);
    attention.view(true); // it moved
    expect(attention.isGiven).toBe(false);
  });
});

describe('[UI-6] a question', () => {
  it('is asked again while its answer comes sooner than anybody can read', async () => {
    const clock = new ManualClock();
    const seen: string[] = [];
    const answers = [0, 499, 500];
    const ask = async () => {
      seen.push('asked');
      await clock.advance(answers[seen.length - 1] ?? 0);
      return 'yes';
    };
    expect(await askDeliberately(ask, { clock })).toBe('yes');
    expect(seen).toHaveLength(3);
  });

  it('takes an answer that decides nothing at once, and none for none', async () => {
    const clock = new ManualClock();
    const options = { clock, decides: (answer: string) => answer === 'yes' };
    expect(await askDeliberately(async () => 'no', options)).toBe('no');
    expect(await askDeliberately(async () => undefined, options)).toBeUndefined();
  });
});
