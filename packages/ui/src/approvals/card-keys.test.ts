// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest';
import { cardKey } from './card-keys.ts';

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
