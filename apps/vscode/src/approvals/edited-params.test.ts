import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { editedParams } from './edited-params.ts';

const before = 'one\ntwo\nthree\ntwo\n';
const edit = (edited: string, base: string | null = before) =>
  editedParams('edit_file', { path: 'a', old: 'x', new: 'y', replace_all: true }, { before: base, edited });

describe('[AP-6] the parameters that produce the edited text', () => {
  it('of write_file are the whole text, even if the call appends', () => {
    const params = { path: 'a', content: 'more', mode: 'append' };
    expect(editedParams('write_file', params, { before, edited: 'all of it' })).toEqual({
      path: 'a',
      content: 'all of it',
      mode: 'write',
    });
  });

  it('of edit_file are as little as says which place is meant', () => {
    const same = { path: 'a', replace_all: false };
    expect(edit('one\ntwo\n3\ntwo\n')).toEqual({ ...same, old: 'three\n', new: '3\n' });
    // "two" alone occurs twice.
    expect(edit('one\n2\nthree\ntwo\n')).toEqual({
      ...same,
      old: 'one\ntwo\nthree\n',
      new: 'one\n2\nthree\n',
    });
  });

  it('do not exist if nothing would change, or if the tool cannot do it', () => {
    expect([edit(before), edit('x', null), edit('x', '')]).toEqual([undefined, undefined, undefined]);
    expect(editedParams('copy_file', { source: 'a', dest: 'b' }, { before, edited: 'x' })).toBeUndefined();
  });

  it('always make exactly that text', () => {
    const text = fc.array(fc.constantFrom('a\n', 'b\n', 'c'), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(text, text, (from, to) => {
        const [base, edited] = [from.join(''), to.join('')];
        const params = edit(edited, base);
        if (!params) return base === edited;
        const old = String(params.old);
        expect(base.split(old)).toHaveLength(2);
        expect(base.replace(old, () => String(params.new))).toBe(edited);
        return true;
      }),
    );
  });
});
