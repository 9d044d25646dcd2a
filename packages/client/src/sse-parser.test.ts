import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeEvent, encodeJson, type LineEnd } from '../test/sse-encoder.ts';
import { type SseFrame, SseParser } from './sse-parser.ts';

const bytesOf = (text: string) => new TextEncoder().encode(text);

describe('SseParser', () => {
  it.each<[string, string, SseFrame[]]>([
    ['a named event with an id', 'event: a\ndata: 1\nid: 7\n\n', [{ name: 'a', data: '1', id: '7' }]],
    ['an event without a name', 'data: 1\n\n', [{ name: 'message', data: '1', id: undefined }]],
    [
      'data in several lines',
      'data: 1\ndata\ndata:  2\n\n',
      [{ name: 'message', data: '1\n\n 2', id: undefined }],
    ],
    ['an empty data line', 'data\n\n', [{ name: 'message', data: '', id: undefined }]],
    ['nothing for comments', ': hello\n\n:\n\n', []],
    ['nothing for an event without data', 'event: a\n\n', []],
    ['an id without data', 'id: 7\n\n', [{ name: 'message', data: undefined, id: '7' }]],
    ['an empty id', 'id\ndata: 1\n\n', [{ name: 'message', data: '1', id: '' }]],
    ['no id that has a NUL', 'id: 7\0\ndata: 1\n\n', [{ name: 'message', data: '1', id: undefined }]],
    [
      'no field that it does not know',
      'x: 1\n data: 2\ndata: 3\n\n',
      [{ name: 'message', data: '3', id: undefined }],
    ],
    [
      'nothing for a block that was not finished',
      'data: 1\n\ndata: 2\n',
      [{ name: 'message', data: '1', id: undefined }],
    ],
    ['a value with colons', 'data:a: b\n\n', [{ name: 'message', data: 'a: b', id: undefined }]],
    ['past a byte order mark', '\uFEFFdata: 1\n\n', [{ name: 'message', data: '1', id: undefined }]],
    ['no second byte order mark', '\uFEFF\uFEFFdata: 1\n\n', []],
    [
      'past a CR in front of an LF of another line',
      'data: 1\r\n\r\ndata: 2\r\r',
      [
        { name: 'message', data: '1', id: undefined },
        { name: 'message', data: '2', id: undefined },
      ],
    ],
  ])('reads %s, wherever it is cut', (_, text, expected) => {
    const bytes = bytesOf(text);
    expect(parse([bytes])).toEqual(expected);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      expect(parse([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual(expected);
    }
    expect(parse([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(expected);
  });

  it('does not keep name or id for the next event', () => {
    expect(parse([bytesOf('event: a\nid: 1\ndata: 1\n\ndata: 2\n\n')])[1]).toEqual({
      name: 'message',
      data: '2',
      id: undefined,
    });
  });

  it('hands over an event at the CR that ends it, without waiting for an LF', () => {
    const parser = new SseParser();
    expect(parser.push(bytesOf('data: 1\r\r'))).toHaveLength(1);
    expect(parser.push(bytesOf('\n'))).toEqual([]);
    expect(parser.push(bytesOf('data: 2\n\n'))).toHaveLength(1);
  });

  it.each([
    ['retry: 250\n', 250],
    ['retry: 1e3\n', undefined],
    ['retry:\n', undefined],
    ['retry: 9999999999\n', undefined],
  ])('takes %j as a hint of %j', (line, expected) => {
    const parser = new SseParser();
    parser.push(bytesOf(line));
    expect(parser.retryMs).toBe(expected);
  });

  it.each([
    ['one endless line', 'data: '.padEnd(600_000, 'x')],
    ['endless lines', 'data: x\n'.repeat(100_000)],
  ])('refuses %s instead of filling the memory', (_, text) => {
    const parser = new SseParser();
    parser.push(bytesOf(text));
    expect(() => parser.push(bytesOf(text))).toThrow('an event has more than 1048576 characters');
  });

  it('reads back any events, with any line ends, cut anywhere', () => {
    const lineEnd = fc.constantFrom<LineEnd>('\n', '\r', '\r\n');
    // The format cannot carry line breaks in a name or an id, CR in data, or NUL in an id.
    const oneLine = fc.string({ unit: 'binary' }).map((text) => text.replace(/[\r\n\0]/g, '·'));
    const event = fc.record({
      name: oneLine.filter((name) => name !== ''),
      data: fc.string({ unit: 'binary' }).map((text) => text.replace(/\r/g, '\n')),
      id: oneLine,
    });
    fc.assert(
      fc.property(fc.array(fc.tuple(event, lineEnd)), fc.array(fc.nat()), (events, cuts) => {
        const bytes = bytesOf(events.map(([each, end]) => encodeEvent(each, end)).join(''));
        expect(parse(cutAt(bytes, cuts))).toEqual(events.map(([each]) => each));
      }),
      { numRuns: 500 },
    );
  });
});

describe('[EV-4] nothing in a payload can break the framing', () => {
  const channels = ['tool_output_to_stream', 'file_name_to_stream', 'model_text_to_stream'];
  const cases = readFileSync(new URL('../../testing/security/events.jsonl', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { id: string; input: { channel: string; payload: string } })
    .filter(({ input }) => channels.includes(input.channel));

  it('has cases', () => {
    expect(cases.map(({ id }) => id)).toEqual(['ev-001', 'ev-002', 'ev-003', 'ev-004', 'ev-016']);
  });

  it.each(cases)('$id', ({ input }) => {
    const bytes = bytesOf(encodeJson('tool.progress', { text: input.payload }, 5));
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const frames = parse([bytes.subarray(0, cut), bytes.subarray(cut)]);
      expect(frames).toEqual([{ name: 'tool.progress', id: '5', data: expect.any(String) }]);
      expect(JSON.parse(frames[0]?.data ?? '')).toEqual({ text: input.payload });
    }
  });
});

function parse(chunks: readonly Uint8Array[]): SseFrame[] {
  const parser = new SseParser();
  return chunks.flatMap((chunk) => parser.push(chunk));
}

function cutAt(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
}
