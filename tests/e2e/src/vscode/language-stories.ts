import { expect, it } from 'vitest';
import type { EditorHome } from './editor-home.ts';

/** The editor's own language features on a TypeScript project. */
export function languageStories(home: () => EditorHome): void {
  const greetIn = { path: 'src/main.ts', line: 3, col: 23 };

  it('[RN-7] symbols', async () => {
    expect(await home().result('symbols', { path: 'src/greet.ts' })).toMatchObject({
      success: true,
      symbols: [{ name: 'greet', kind: 'function', line: 1, col: 17 }],
    });
  });

  it('[RN-7] diagnostics', async () => {
    expect(await home().result('diagnostics', { path: 'src/main.ts' })).toMatchObject({
      diagnostics: [
        { line: 3, severity: 'error', message: expect.stringContaining("'string'"), code: '2322' },
      ],
    });
    expect(await home().result('diagnostics', { path: 'src/greet.ts' })).toMatchObject({ diagnostics: [] });
  });

  it('[RN-7] hover', async () => {
    expect(await home().result('hover', greetIn)).toMatchObject({
      contents: expect.stringContaining('greet(name: string): string'),
      text: "const wrong: number = greet('you');",
    });
  });

  it('[RN-7] definition and references, inside the workspace', async () => {
    expect(await home().result('definition', greetIn)).toMatchObject({
      locations: [{ path: 'src/greet.ts', line: 1, col: 17 }],
    });
    const { locations } = (await home().result('references', greetIn)) as {
      locations: { path: string; line: number }[];
    };
    expect(locations.map(({ path, line }) => `${path}:${line}`).sort()).toEqual([
      'src/greet.ts:1',
      'src/main.ts:1',
      'src/main.ts:3',
      'src/main.ts:4',
    ]);
  });
}
