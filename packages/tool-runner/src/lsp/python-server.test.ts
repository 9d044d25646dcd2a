import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LspExecutor } from './lsp-executor.ts';
import { callTool, LspFixture } from './lsp-fixture.test-data.ts';

const greet = `def greet(name: str) -> str:
    """Says hello."""
    return "😀 " + name
`;
const main = `from greet import greet
face = "😀😀"; print(greet(face))
wrong: int = greet("x")
`;

let fixture: LspFixture;
let lsp: LspExecutor;
beforeAll(() => {
  fixture = new LspFixture({ 'greet.py': greet, 'main.py': main }, { isolated: true });
  lsp = fixture.executor();
});
afterAll(() => fixture.dispose());

describe('[RN-7] Python out of the box', () => {
  it('finds every use on the first question, although the server lists its files later', async () => {
    const { locations } = await callTool(lsp, 'references', { path: 'greet.py', line: 1, col: 5 });
    expect(locations).toHaveLength(4);
    expect(locations).toContainEqual({
      path: 'main.py',
      line: 2,
      col: 20, // behind two emoji of one character each
      end_line: 2,
      end_col: 25,
      text: 'face = "😀😀"; print(greet(face))',
    });
  });

  it('[TL-2] answers all five tools', async () => {
    const at = { path: 'main.py', line: 2, col: 20 };
    expect(await callTool(lsp, 'hover', at)).toEqual({
      success: true,
      contents: '```python\n(function) def greet(name: str) -> str\n```\n---\nSays hello.',
      text: 'face = "😀😀"; print(greet(face))',
    });
    expect((await callTool(lsp, 'definition', at)).locations).toEqual([
      { path: 'greet.py', line: 1, col: 5, end_line: 1, end_col: 10, text: 'def greet(name: str) -> str:' },
    ]);
    const { symbols } = await callTool(lsp, 'symbols', { path: 'greet.py' });
    expect(symbols[0]).toMatchObject({ name: 'greet', kind: 'function', line: 1, col: 5, end_line: 3 });
    expect((await callTool(lsp, 'diagnostics', { path: 'main.py' })).diagnostics).toEqual([
      {
        line: 3,
        col: 14,
        end_line: 3,
        end_col: 24,
        severity: 'error',
        message: expect.stringContaining('"str" is not assignable to declared type "int"'),
        source: 'Pyright',
        code: 'reportAssignmentType',
        text: 'wrong: int = greet("x")',
      },
    ]);
  });

  it('says that a definition is outside the workspace', async () => {
    const answer = await callTool(lsp, 'definition', { path: 'main.py', line: 2, col: 14 });
    expect(answer).toMatchObject({ locations: [], outside_workspace: expect.any(Number) });
  });

  it('never answers from an old version, whichever file changed', async () => {
    const uses = async () =>
      (await callTool(lsp, 'references', { path: 'greet.py', line: 1, col: 5 })).locations.length;
    const errors = async () => (await callTool(lsp, 'diagnostics', { path: 'main.py' })).diagnostics.length;

    fixture.write('more.py', 'from greet import greet\nmore = greet("y")\n');
    expect(await uses()).toBe(6);

    fixture.write('more.py', 'from greet import greet\nmore = greet("y")\nagain = greet("z")\n');
    expect(await uses()).toBe(7);

    fixture.remove('more.py');
    expect(await uses()).toBe(4);

    expect(await errors()).toBe(1);
    fixture.write('pyproject.toml', '[tool.pyright]\nreportAssignmentType = false\n');
    expect(await errors()).toBe(0);
    fixture.write('pyproject.toml', '[tool.pyright]\nreportAssignmentType = true\n');
    expect(await errors()).toBe(1);
    fixture.write('greet.py', greet.replace('-> str', '-> int'));
    expect(await errors()).toBe(0);
    expect(fixture.requests).toHaveLength(1);
  });
});
