import { expect, it } from 'vitest';
import { ResumePoint } from './event-stream.ts';

it.each([
  [undefined, '1', true],
  ['9', '10', true],
  ['10', '9', false],
  ['10', '10', false],
  ['9007199254740993', '9007199254740994', true],
  ['a', 'b', true],
  ['b', 'b', false],
  ['10', 'b', true],
])('after %j, %j is new: %j', (last, id, expected) => {
  expect(new ResumePoint(last).isNew(id)).toBe(expected);
});

it('forgets at an empty id, as the standard has it', () => {
  const point = new ResumePoint('1');
  point.moveTo('');
  expect(point.lastId).toBeUndefined();
});
