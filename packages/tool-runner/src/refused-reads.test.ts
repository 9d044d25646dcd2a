import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type CountersignError, catalogue, parametersJsonSchema, parseToolCall } from '@countersign/protocol';
import { readingContext } from '@countersign/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BuiltInTools } from './built-in-tools.ts';
import { ResultCache } from './files/result-cache.ts';
import { GitFixture } from './git/git-fixture.test-data.ts';
import { LspExecutor } from './lsp/lsp-executor.ts';

/**
 * Places that no tool may read, with the codes of a refusal. A tool for directories refuses a file with
 * NOT_A_DIRECTORY, and a tool for files refuses a directory with IS_A_DIRECTORY.
 */
const refused: Readonly<Record<string, readonly string[]>> = {
  '.env': ['PATH_SENSITIVE', 'NOT_A_DIRECTORY'],
  'link-to-env': ['PATH_SENSITIVE', 'NOT_A_DIRECTORY'],
  '.ssh': ['PATH_SENSITIVE', 'IS_A_DIRECTORY'],
  'link-to-ssh': ['PATH_SENSITIVE', 'IS_A_DIRECTORY'],
  '../x': ['PATH_OUTSIDE_WORKSPACE'],
  '../outside': ['PATH_OUTSIDE_WORKSPACE'],
};

/** Every read-only tool with each of its parameters that is a path, as `pathParameter` describes it. */
const reads = catalogue
  .filter(({ kind, changes }) => kind === 'read' || changes === 'nothing')
  .flatMap((tool) =>
    Object.entries(parametersJsonSchema(tool).properties)
      .filter(([, schema]) => /relative to the workspace root\.$/.test(Object(schema).description))
      .map(([parameter]) => [tool.name, parameter] as const),
  );

const fixture = new GitFixture({ isolated: false });
const noServer = {
  start: () => expect.fail('a language server was started'),
  stop: () => Promise.resolve(),
};
const tools = new BuiltInTools({
  filesystem: { workspace: fixture.workspace, cache: new ResultCache() },
  git: fixture.repository,
  lsp: new LspExecutor({ workspace: fixture.workspace, starter: noServer }),
});
beforeAll(() => {
  fixture.withCommit();
  fixture.write('.env', 'TOKEN=1\n');
  fixture.write('.ssh/id_rsa', 'key\n');
  fixture.write('../x', 'outside\n');
  symlinkSync('.env', join(fixture.root, 'link-to-env'));
  symlinkSync('.ssh', join(fixture.root, 'link-to-ssh'));
});
afterAll(async () => {
  await tools.dispose();
  await fixture.remove();
});

/** The example with the most parameters of the tool. */
function exampleOf(tool: string): object {
  const file = new URL(`../../protocol/fixtures/tools/${tool}.json`, import.meta.url);
  const { params } = JSON.parse(readFileSync(file, 'utf8')) as { params: object[] };
  return params.toSorted((a, b) => Object.keys(b).length - Object.keys(a).length)[0] ?? {};
}

// The policy would refuse most of these first. A link can be swapped after the policy's check, so each module checks as
// well.
describe('[VA-1] [VA-2] [VA-8] a module that is executed without the policy', () => {
  it('tries every tool that reads by path', () => {
    expect(reads.map(([tool]) => tool)).toEqual(expect.arrayContaining(['read_file', 'git_diff', 'hover']));
    expect(reads.length).toBeGreaterThanOrEqual(11);
  });

  it.each(reads.flatMap(([tool, parameter]) => Object.keys(refused).map((path) => [tool, parameter, path])))(
    '%s refuses %s %s',
    async (tool = '', parameter = '', path = '') => {
      const parsed = parseToolCall(tool, { ...exampleOf(tool), [parameter]: path });
      if (!parsed.ok) throw new Error(parsed.error.message);
      const code = await tools.execute(parsed.call, readingContext()).then(
        (result) => JSON.stringify(result),
        (error: CountersignError) => error.code,
      );
      expect(refused[path]).toContain(code);
    },
  );
});
