import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LspExecutor } from './lsp-executor.ts';
import { callTool, LspFixture } from './lsp-fixture.test-data.ts';

const greet = `/** Says hello. */
export function greet(name: string): string {
  return \`😀 \${name}\`;
}

export class Greeter {
  say(words: string) {
    return greet(words);
  }
}
`;
const main = `import { greet } from './greet.ts';
const face = '😀😀'; console.log(greet(face));
const wrong: number = greet('x');
`;

const configuration = (more: object) =>
  JSON.stringify({
    compilerOptions: {
      strict: true,
      noEmit: true,
      module: 'nodenext',
      allowImportingTsExtensions: true,
      resolveJsonModule: true,
      ...more,
    },
    include: ['src'],
  });

let fixture: LspFixture;
let lsp: LspExecutor;
beforeAll(() => {
  fixture = new LspFixture(
    {
      'tsconfig.json': configuration({}),
      'src/greet.ts': greet,
      'src/main.ts': main,
      'src/credentials.json': '{ "CANARY": 1 }',
      'src/settings.json': '{ "harmless": 1 }',
      'src/secret.ts': `import secret from './credentials.json' with { type: 'json' };
import settings from './settings.json' with { type: 'json' };
export const both = [secret, settings];
`,
    },
    { isolated: true },
  );
  lsp = fixture.executor();
});
afterAll(() => fixture.dispose());

describe('[RN-7] TypeScript out of the box', () => {
  it('finds every use, also on the first question', async () => {
    const { locations } = await callTool(lsp, 'references', { path: 'src/greet.ts', line: 2, col: 17 });
    expect(locations).toHaveLength(5);
    expect(locations).toContainEqual({
      path: 'src/main.ts',
      line: 2,
      col: 32, // behind two emoji of one character each
      end_line: 2,
      end_col: 37,
      text: "const face = '😀😀'; console.log(greet(face));",
    });
  });

  it('[TL-2] answers all five tools with places counted in characters from 1', async () => {
    const at = { path: 'src/main.ts', line: 2, col: 32 };
    expect(await callTool(lsp, 'hover', at)).toEqual({
      success: true,
      contents: '```typescript\n(alias) function greet(name: string): string\n```\nSays hello.',
      text: "const face = '😀😀'; console.log(greet(face));",
    });
    expect(await callTool(lsp, 'definition', at)).toEqual({
      success: true,
      locations: [
        {
          path: 'src/greet.ts',
          line: 2,
          col: 17,
          end_line: 2,
          end_col: 22,
          text: 'export function greet(name: string): string {',
        },
      ],
      truncated: false,
    });
    const { symbols } = await callTool(lsp, 'symbols', { path: 'src/greet.ts' });
    expect(symbols).toEqual([
      {
        name: 'greet',
        kind: 'function',
        line: 2,
        col: 17,
        end_line: 4,
        end_col: 2,
        text: 'export function greet(name: string): string {',
      },
      {
        name: 'Greeter',
        kind: 'class',
        line: 6,
        col: 14,
        end_line: 10,
        end_col: 2,
        text: 'export class Greeter {',
      },
      {
        name: 'say',
        kind: 'method',
        container: 'Greeter',
        line: 7,
        col: 3,
        end_line: 9,
        end_col: 4,
        text: '  say(words: string) {',
      },
    ]);
    const { diagnostics } = await callTool(lsp, 'diagnostics', { path: 'src/main.ts' });
    expect(diagnostics.filter(({ severity }: { severity: string }) => severity === 'error')).toEqual([
      {
        line: 3,
        col: 7,
        end_line: 3,
        end_col: 12,
        severity: 'error',
        message: "Type 'string' is not assignable to type 'number'.",
        source: 'ts',
        code: '2322',
        text: "const wrong: number = greet('x');",
      },
    ]);
  });

  it('says that a definition is outside the workspace instead of showing it', async () => {
    const answer = await callTool(lsp, 'definition', { path: 'src/main.ts', line: 2, col: 22 });
    expect(answer).toEqual({
      success: true,
      locations: [],
      truncated: false,
      outside_workspace: expect.any(Number),
    });
  });

  it('never answers from an old version, whichever file changed', async () => {
    const uses = async () =>
      (await callTool(lsp, 'references', { path: 'src/greet.ts', line: 2, col: 17 })).locations.length;
    const errors = async () =>
      (await callTool(lsp, 'diagnostics', { path: 'src/main.ts' })).diagnostics.filter(
        ({ severity }: { severity: string }) => severity === 'error',
      ).length;
    expect([await uses(), await errors()]).toEqual([5, 1]);

    fixture.write('src/more.ts', "import { greet } from './greet.ts';\nexport const more = greet('y');\n");
    expect(await uses()).toBe(7);

    fixture.write(
      'src/more.ts',
      "import { greet } from './greet.ts';\nexport const more = greet;\ngreet('z');\n",
    );
    expect(await uses()).toBe(8);

    fixture.remove('src/more.ts');
    expect(await uses()).toBe(5);

    fixture.write('src/greet.ts', greet.replace('name: string): string', 'name: string): any'));
    expect(await errors()).toBe(0);

    fixture.write('src/greet.ts', greet);
    fixture.write('src/main.ts', main.replace('number', 'string'));
    expect(await errors()).toBe(0);

    fixture.write('tsconfig.json', configuration({ allowImportingTsExtensions: false }));
    expect(await errors()).toBe(1);
    fixture.write('tsconfig.json', configuration({}));
    expect(await errors()).toBe(0);
  });

  it('[VA-2] a server does not see sensitive files', async ({ skip }) => {
    if (!fixture.isolation.isIsolated) skip('this machine cannot isolate');
    const hover = async (line: number) =>
      (await callTool(lsp, 'hover', { path: 'src/secret.ts', line, col: 9 })).contents;
    expect(await hover(2)).toContain('harmless');
    expect(await hover(1)).not.toContain('CANARY');
    const { locations } = await callTool(lsp, 'definition', { path: 'src/secret.ts', line: 1, col: 9 });
    expect(JSON.stringify(locations)).not.toMatch(/credentials|CANARY/);
  });

  it('keeps one server warm, in the LOW confinement, from our own packages', () => {
    expect(fixture.requests).toHaveLength(1);
    const [request] = fixture.requests;
    expect(request).toMatchObject({
      args: ['--lsp', '--stdio'],
      stdin: 'pipe',
      confinement: { workspace: 'read', network: false, maskSensitive: true },
    });
    expect(request?.program.startsWith(fixture.workspace.root)).toBe(false);
    expect(request?.confinement.readable?.some((folder) => request.program.startsWith(folder))).toBe(true);
  });

  it('answers about every kind of its files, and starts once for questions that come together', async () => {
    const extensions = ['ts', 'tsx', 'mts', 'cts', 'js', 'jsx', 'mjs', 'cjs'];
    for (const extension of extensions) fixture.write(`loose/file.${extension}`, 'const answer = 42;\n');
    const another = fixture.executor();
    const before = fixture.requests.length;
    const answers = await Promise.all(
      extensions.map((extension) =>
        callTool(another, 'hover', { path: `loose/file.${extension}`, line: 1, col: 7 }),
      ),
    );
    expect(answers.map(({ contents }) => contents)).toEqual(
      extensions.map(() => '```typescript\nconst answer: 42\n```'),
    );
    expect(fixture.requests.length - before).toBe(1);
  });
});
