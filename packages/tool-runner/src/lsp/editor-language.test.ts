import { pathToFileURL } from 'node:url';
import type { BuiltInToolName } from '@countersign/protocol';
import { afterEach, describe, expect, it } from 'vitest';
import type { LanguageFeatures } from './editor-language.ts';
import { callTool, LspFixture } from './lsp-fixture.test-data.ts';

const range = { start: { line: 0, character: 6 }, end: { line: 0, character: 9 } };
let fixture: LspFixture;
afterEach(() => fixture.dispose());

/** An editor that finds the same everywhere, and remembers what it was asked. */
function features(): LanguageFeatures & { readonly asked: unknown[] } {
  const asked: unknown[] = [];
  const answer = (value: (file: string) => unknown) => async (file: string, position: unknown) => {
    asked.push(position instanceof AbortSignal ? [file] : [file, position]);
    return value(file);
  };
  const location = (file: string) => [{ uri: String(pathToFileURL(file)), range }];
  return {
    asked,
    diagnostics: answer(() => [{ range, severity: 1, message: 'wrong', source: 'ts', code: 2322 }]),
    symbols: answer(() => [{ name: 'one', kind: 13, range, selectionRange: range, children: [] }]),
    hover: answer(() => ({ contents: ['const one: 1'] })),
    definition: answer(location),
    references: answer((file) => [...location(file), { uri: 'file:///etc/passwd', range }]),
  };
}

describe('[RN-7] an editor with language features', () => {
  it('answers in place of language servers, in the shapes of the tools', async () => {
    const editor = features();
    fixture = new LspFixture({ 'a.ts': 'const one = 1;\n' }, { isolated: false });
    const { root } = fixture.workspace;
    const executor = fixture.executor({ features: editor });
    const ask = (tool: BuiltInToolName, params: object) => callTool(executor, tool, params);
    const at = { path: 'a.ts', line: 1, col: 7 };
    const place = { line: 1, col: 7, end_line: 1, end_col: 10, text: 'const one = 1;' };

    expect(await ask('diagnostics', { path: 'a.ts' })).toEqual({
      success: true,
      diagnostics: [{ ...place, severity: 'error', message: 'wrong', source: 'ts', code: '2322' }],
      truncated: false,
    });
    expect(await ask('symbols', { path: 'a.ts' })).toMatchObject({
      symbols: [{ name: 'one', kind: 'variable', ...place }],
    });
    expect(await ask('hover', at)).toMatchObject({ contents: 'const one: 1', text: 'const one = 1;' });
    expect(await ask('definition', at)).toMatchObject({ locations: [{ path: 'a.ts', ...place }] });
    expect(await ask('references', at)).toMatchObject({
      locations: [{ path: 'a.ts', ...place }],
      outside_workspace: 1,
    });
    const file = `${root}/a.ts`;
    const position = { line: 0, character: 6 };
    expect(editor.asked).toEqual([[file], [file], [file, position], [file, position], [file, position]]);
    expect(fixture.requests).toEqual([]);
  });
});
