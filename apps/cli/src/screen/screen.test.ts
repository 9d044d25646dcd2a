import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KeyDecoder } from './keys.ts';
import { LineEditor } from './line-editor.ts';
import { LiveRegion } from './live-region.ts';
import { layOut } from './paragraph.ts';
import { FakeScreen } from './screen-fixture.test-data.ts';
import { Stage } from './stage.ts';
import { fit, spread, widthOf, withoutStyles, wrap } from './text-width.ts';

describe('text in columns', () => {
  it('counts what a terminal draws: styles and marks take none, wide letters take two', () => {
    expect(widthOf('\u001b[31mabc\u001b[0m')).toBe(3);
    expect(widthOf('e\u0301')).toBe(1);
    expect(widthOf('日本')).toBe(4);
    expect(withoutStyles('\u001b[1mx\u001b[0m')).toBe('x');
  });

  it('wraps without losing a character, at a space where there is one near', () => {
    expect(wrap('one two three', 9)).toEqual(['one two', 'three']);
    expect(wrap('abcdefghij', 4)).toEqual(['abcd', 'efgh', 'ij']);
    expect(wrap('', 4)).toEqual(['']);
    expect(wrap('日本語', 4)).toEqual(['日本', '語']);
    expect(wrap('\tx', 10)).toEqual(['    x']);
    expect(wrap('\u0915\u093e'.repeat(4), 4)).toHaveLength(2); // a vowel sign beside its letter
  });

  it('shortens with a sign that it did, and spreads two ends', () => {
    expect(fit('abcdef', 4)).toBe('abc…');
    expect(fit('abc', 4)).toBe('abc');
    expect(spread('a', 'b', 5)).toBe('a   b');
    expect(spread('aaaa', 'bbbb', 5)).toBe('aaaa bbbb');
  });

  it('[UI-6] makes foreign text harmless before it is laid out', () => {
    const [line] = layOut([{ text: 'a\u001b[2J\u202eb' }], 80, true);
    expect(line).toBe('a⟨U+001B⟩[2J⟨U+202E⟩b');
    expect(layOut([{ text: 'pа⟨U+0430⟩' }], 80, false)).toEqual(['pа⟨U+0430⟩']);
  });

  it('indents what follows a lead', () => {
    expect(layOut([{ lead: '+ ', text: 'abcd' }], 4, false)).toEqual(['+ ab', '  cd']);
  });
});

describe('keys', () => {
  const decode = (text: string) => new KeyDecoder().push(Buffer.from(text));

  it('names what a terminal sends', () => {
    const names = [
      'y',
      '\r',
      '\u001b',
      '\u001b[A',
      '\u001bOB',
      '\u001b[5~',
      '\u0003',
      '\u007f',
      '\t',
      '\u001b[99~',
    ].map((sent) => decode(sent)[0]?.name);
    expect(names).toEqual([
      'y',
      'enter',
      'escape',
      'up',
      'down',
      'page-up',
      'ctrl-c',
      'backspace',
      'tab',
      'other',
    ]);
  });

  it('[UI-6] marks keys that did not come alone', () => {
    expect(decode('yy').map(({ together }) => together)).toEqual([true, true]);
    expect(decode('y').map(({ together }) => together)).toEqual([false]);
  });

  it('takes a paste as one text, also over several reads, and a character cut in two', () => {
    const decoder = new KeyDecoder();
    expect(decoder.push(Buffer.from('\u001b[200~one\r\ntw'))).toEqual([]);
    expect(decoder.push(Buffer.from('o\u001b[201~'))).toEqual([
      { name: 'paste', text: 'one\ntwo', together: true },
    ]);
    const [first, second] = [Buffer.from('я').subarray(0, 1), Buffer.from('я').subarray(1)];
    expect(decoder.push(first)).toEqual([]);
    expect(decoder.push(second)).toEqual([{ name: 'я', text: 'я', together: false }]);
  });
});

describe('LineEditor', () => {
  const press = (editor: LineEditor, ...names: string[]) => {
    for (const name of names) editor.press({ name, text: name.length === 1 ? name : '', together: false });
    return `${editor.beforeCursor}|${editor.afterCursor}`;
  };

  it('edits as a shell does', () => {
    const editor = new LineEditor('one two');
    expect(press(editor, 'left', 'left', 'x')).toBe('one tx|wo');
    expect(press(editor, 'backspace', 'delete')).toBe('one t|o');
    expect(press(editor, 'home', 'right', 'ctrl-k')).toBe('o|');
    expect(press(editor, 'end', ' ', 'a', 'b', 'ctrl-w')).toBe('o |');
    expect(press(editor, 'ctrl-w')).toBe('|');
    editor.set('abc');
    expect(press(editor, 'ctrl-b', 'ctrl-u')).toBe('|c');
    expect(press(editor, 'ctrl-e', 'ctrl-f', 'backspace', 'backspace')).toBe('|');
    expect(editor.press({ name: 'page-up', text: '', together: false })).toBe(false);
    expect(press(editor, 'ctrl-a', 'a')).toBe('a|');
    expect(editor.text).toBe('a');
  });
});

describe('LiveRegion', () => {
  it('draws over itself, prints above itself and leaves nothing behind', () => {
    const screen = new FakeScreen(20, 10);
    const region = new LiveRegion(screen);
    region.set(['one', 'two', 'three']);
    region.print(['printed']);
    expect(screen.text).toBe('printed\none\ntwo\nthree\n');
    region.set(['four']);
    expect(screen.text.trimEnd()).toBe('printed\nfour');
    const written = screen.raw.length;
    region.set(['four']);
    expect(screen.raw.length).toBe(written); // nothing changed, nothing is sent
    region.close();
    region.close();
    expect(screen.text.trimEnd()).toBe('printed');
    region.print(['after']);
    expect(screen.text.trimEnd()).toBe('printed\nafter');
    expect(screen.raw.match(/\?25h/g)).toHaveLength(1);
  });

  it('knows that a narrower terminal has wrapped its lines', () => {
    const screen = new FakeScreen(20, 10);
    const region = new LiveRegion(screen);
    region.set(['x'.repeat(19)]);
    screen.columns = 10;
    region.set(['y']);
    expect(screen.raw).toContain('\u001b[2A');
  });
});

describe('Stage', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'countersign-stage-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const editorThat = (script: string): string => {
    const path = join(folder, 'editor');
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o700);
    return path;
  };
  const stageWith = (env: Record<string, string>) => {
    const screen = new FakeScreen();
    const keys: string[] = [];
    const stage = new Stage({ screen, env, lines: () => ['live'], onKey: ({ name }) => keys.push(name) });
    stage.draw();
    return { screen, stage, keys };
  };

  it('gives the terminal to the editor and takes it back; lines printed meanwhile follow', async () => {
    const { screen, stage, keys } = stageWith({ EDITOR: `${editorThat('sed -i s/old/new/ "$1"')}` });
    const edited = stage.edit?.('an old text');
    expect(screen.isTaken).toBe(false);
    stage.print(['said meanwhile']);
    stage.draw();
    expect(screen.text).not.toContain('said');
    expect(await edited).toBe('an new text\n');
    expect(screen.text.trimEnd()).toBe('said meanwhile\nlive');
    screen.send('x');
    expect(keys).toEqual(['x']);
    stage.close();
    expect(screen.isTaken).toBe(false);
    stage.draw();
    expect(screen.text.trimEnd()).toBe('said meanwhile');
  });

  it('prints live lines that are done without drawing them once more, which would scroll the screen', () => {
    const screen = new FakeScreen();
    let live = ['one', 'two', 'three', 'input'];
    const stage = new Stage({ screen, env: {}, lines: () => live, onKey: () => {} });
    stage.draw();
    live = ['input'];
    stage.print(['one', 'two', 'three']);
    stage.draw();
    expect(screen.text).toBe('one\ntwo\nthree\ninput\n'); // no empty rows below
    stage.close();
  });

  it('reports if the editor failed, and has no editor if none is set', async () => {
    const { stage } = stageWith({ VISUAL: editorThat('exit 3') });
    await expect(stage.edit?.('x')).rejects.toThrow('ended with 3');
    stage.close();
    const without = stageWith({});
    expect(without.stage.edit).toBe(undefined);
    without.screen.resize(40, 10);
    without.stage.close();
  });
});
