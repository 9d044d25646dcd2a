import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { handlerSettingNames, requireHandlerSettings } from '@countersign/tool-runner';
import { editorWords } from '@countersign/words/editor';
import { describe, expect, it } from 'vitest';
import { commandNames } from './editor/command-names.ts';
import { wordsFor } from './words.ts';

const { en: english, ru: russian } = editorWords;

const text = (name: string) => readFileSync(join(import.meta.dirname, '..', name), 'utf8');
const read = (name: string) => JSON.parse(text(name)) as Record<string, unknown>;
const manifest = read('package.json') as {
  contributes: { commands: { command: string }[]; configuration: { properties: Record<string, unknown> } };
};

/** Every text of these words. Functions are called with sample arguments. */
function texts(words: object, path = ''): [string, string][] {
  return Object.entries(words).flatMap(([key, value]): [string, string][] => {
    const at = `${path}.${key}`;
    if (typeof value === 'object') return texts(value as object, at);
    return [
      [
        at,
        typeof value === 'function'
          ? String((value as (...all: unknown[]) => string)(5, 7, 9))
          : String(value),
      ],
    ];
  });
}

describe('words', () => {
  it('are in the language of the editor, English where we do not have it', () => {
    expect([wordsFor('ru'), wordsFor('ru-RU'), wordsFor('xx'), wordsFor('rum')]).toEqual([
      russian,
      russian,
      english,
      english,
    ]);
  });

  it('say everything in Russian too', () => {
    const same = ['.signIn.placeholder', '.mcp.label', '.mcp.token', '.status.failed'];
    const inEnglish = new Map(texts(english));
    expect(texts(russian).map(([path]) => path)).toEqual([...inEnglish.keys()]);
    const untranslated = texts(russian).filter(
      ([path, text]) => inEnglish.get(path) === text && !same.includes(path),
    );
    expect(untranslated).toEqual([]);
    expect(russian.status.pending(1)).toBe('1 одобрение ждёт вас');
    expect([2, 5, 11, 21].map((n) => russian.status.pending(n))).toEqual([
      '2 одобрения ждут вас',
      '5 одобрений ждут вас',
      '11 одобрений ждут вас',
      '21 одобрение ждёт вас',
    ]);
    expect([english.approval.remaining(30), english.approval.remaining(300)]).toEqual([
      '30 s left',
      '5 min left',
    ]);
    expect(russian.approval.remaining(30)).toBe('осталось 30 с');
    expect([english.status.pending(1), english.status.pending(2)]).toEqual([
      '1 approval waits for you',
      '2 approvals wait for you',
    ]);
  });
});

describe('the manifest', () => {
  const named = [...JSON.stringify(manifest).matchAll(/%([\w.]+)%/g)].map(([, name]) => name as string);

  it('has every text in both languages, and none too many', () => {
    const keys = (name: string) => Object.keys(read(name)).sort();
    expect(keys('package.nls.json')).toEqual([...new Set(named)].sort());
    expect(keys('package.nls.ru.json')).toEqual(keys('package.nls.json'));
  });

  it('has every page of the walkthrough in both languages', () => {
    for (const name of ['package.nls.json', 'package.nls.ru.json']) {
      const pages = Object.entries(read(name)).filter(([key]) => key.endsWith('.media'));
      expect(pages).toHaveLength(4);
      for (const [, page] of pages) expect(text(String(page))).not.toBe('');
    }
  });

  it('[RN-1] [TL-3] has every setting of the runner, within its range, for the person alone', () => {
    const { properties } = manifest.contributes.configuration;
    for (const name of handlerSettingNames) {
      const setting = properties[`countersign.runner.${name}`] as Record<string, number>;
      expect(setting).toMatchObject({ scope: 'machine' }); // no workspace can set it
      const { minimum, maximum } = setting;
      if (minimum === undefined || maximum === undefined) continue;
      expect(requireHandlerSettings({ [name]: minimum })).toEqual({ [name]: minimum });
      expect(requireHandlerSettings({ [name]: maximum })).toEqual({ [name]: maximum });
      for (const outside of [minimum - 1, maximum + 1])
        expect(() => requireHandlerSettings({ [name]: outside })).toThrow(`${name}: `);
    }
  });

  it('promises exactly the commands that there are', () => {
    expect(manifest.contributes.commands.map(({ command }) => command)).toEqual([...commandNames]);
  });
});
