// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest';
import { TestClock } from '../page-fixture.test-data.tsx';
import { Attention } from './attention.ts';
import { cardKey } from './card-keys.ts';

describe('[UI-6] attention', () => {
  it('is given half a second after the focus came', async () => {
    const clock = new TestClock();
    const attention = new Attention(clock);
    expect(attention.isGiven).toBe(false);
    attention.focus(true);
    await clock.advance(499);
    expect(attention.isGiven).toBe(false);
    await clock.advance(1);
    expect(attention.isGiven).toBe(true);
  });

  it('begins anew when the focus was away, or what is displayed changed', async () => {
    const clock = new TestClock();
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
    const clock = new TestClock();
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
    const clock = new TestClock();
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
    const clock = new TestClock();
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

describe('the keys of a card', () => {
  const press = (init: KeyboardEventInit, target: Element = document.body) => {
    let seen: string | undefined = 'nothing';
    const listener = (event: Event) => {
      seen = cardKey(event as KeyboardEvent);
    };
    document.addEventListener('keydown', listener);
    target.dispatchEvent(new KeyboardEvent('keydown', { bubbles: true, ...init }));
    document.removeEventListener('keydown', listener);
    return seen;
  };

  it.each(['y', 'n', 'a', 'e'])('knows %s, also in upper case', (key) => {
    expect(press({ key })).toBe(key);
    expect(press({ key: key.toUpperCase() })).toBe(key);
  });

  it('takes the place of a key on a keyboard of another script', () => {
    expect(press({ key: 'н', code: 'KeyY' })).toBe('y');
    expect(press({ key: 'z', code: 'KeyY' })).toBeUndefined(); // QWERTZ has its y elsewhere
    expect(press({ key: 'Shift', code: 'KeyY' })).toBeUndefined();
  });

  it('[UI-6] knows none with a modifier, held down, or in a field', () => {
    expect(press({ key: 'y', ctrlKey: true })).toBeUndefined();
    expect(press({ key: 'y', metaKey: true })).toBeUndefined();
    expect(press({ key: 'y', altKey: true })).toBeUndefined();
    expect(press({ key: 'y', repeat: true })).toBeUndefined();
    const field = document.body.appendChild(document.createElement('textarea'));
    expect(press({ key: 'y' }, field)).toBeUndefined();
  });
});
