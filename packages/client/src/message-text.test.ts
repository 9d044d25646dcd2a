import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MessageText } from './message-text.ts';

const started = { content: '', complete: false };

describe('MessageText', () => {
  it('[EV-4] grows with each delta', () => {
    const message = new MessageText(started);
    expect(message.add({ offset: 0, text: 'Hello' })).toBe(true);
    expect(message.add({ offset: 5, text: ', you' })).toBe(true);
    expect(message.text).toBe('Hello, you');
    expect(message.needsRefetch).toBe(false);
  });

  it('ignores what it has already', () => {
    const message = new MessageText({ ...started, content: 'Hello' });
    expect(message.add({ offset: 0, text: 'Hel' })).toBe(false);
    expect(message.add({ offset: 3, text: 'lo, you' })).toBe(true);
    expect(message.text).toBe('Hello, you');
  });

  it('counts UTF-16 units, as the server does', () => {
    const message = new MessageText({ ...started, content: '👍' });
    message.add({ offset: 2, text: '!' });
    expect(message.text).toBe('👍!');
  });

  it('asks to be fetched after a gap, and continues from the fetched text', () => {
    const message = new MessageText(started);
    expect(message.add({ offset: 7, text: 'you' })).toBe(false);
    expect(message.text).toBe('');
    expect(message.needsRefetch).toBe(true);

    message.replace({ content: 'Hello, ', complete: false });
    expect(message.text).toBe('Hello, you');
    expect(message.needsRefetch).toBe(false);
  });

  it('asks again when what was fetched lags behind the gap', () => {
    const message = new MessageText(started);
    message.add({ offset: 7, text: 'you' });
    message.replace({ content: 'Hel', complete: false });
    expect(message.text).toBe('Hel');
    expect(message.needsRefetch).toBe(true);
  });

  it('keeps what was streamed beyond what was fetched', () => {
    const message = new MessageText({ ...started, content: 'Hello, you' });
    message.replace({ content: 'Hello', complete: false });
    expect(message.text).toBe('Hello, you');
  });

  it('takes the complete message as it is, and nothing after it', () => {
    const message = new MessageText({ ...started, content: 'Hello, yo' });
    message.add({ offset: 20, text: 'lost' });
    message.replace({ content: 'Hello', complete: true });
    expect(message.add({ offset: 5, text: '!' })).toBe(false);
    expect({ text: message.text, complete: message.complete, refetch: message.needsRefetch }).toEqual({
      text: 'Hello',
      complete: true,
      refetch: false,
    });
  });

  it('asks to be fetched when the event left the content out for its size', () => {
    const message = new MessageText({ content: '', complete: true, omitted: ['content'] });
    expect(message.needsRefetch).toBe(true);
    message.replace({ content: 'long', complete: true });
    expect({ text: message.text, refetch: message.needsRefetch }).toEqual({ text: 'long', refetch: false });
  });

  it('ends with the whole text, in whatever order and however often its pieces come', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.array(fc.nat()),
        fc.infiniteStream(fc.nat()),
        (whole, cuts, order) => {
          const places = [
            0,
            ...cuts.map((cut) => cut % (whole.length + 1)).sort((a, b) => a - b),
            whole.length,
          ];
          const pieces = places
            .slice(1)
            .map((end, i) => ({ offset: places[i] ?? 0, text: whole.slice(places[i], end) }));
          const shuffled = [...pieces, ...pieces]
            .map((piece) => ({ piece, at: order.next().value }))
            .sort((a, b) => a.at - b.at);

          const message = new MessageText(started);
          for (const { piece } of shuffled) message.add(piece);
          expect({ text: message.text, refetch: message.needsRefetch }).toEqual({
            text: whole,
            refetch: false,
          });
        },
      ),
    );
  });

  it('starts over when the model was asked again after its stream was cut', () => {
    const message = new MessageText({ content: '', complete: false });
    message.add({ offset: 0, text: 'The answer' });
    message.add({ offset: 10, text: ' is' });
    message.add({ offset: 0, text: 'Another' });
    message.add({ offset: 7, text: ' one' });
    expect([message.text, message.needsRefetch]).toEqual(['Another one', false]);
  });
});
