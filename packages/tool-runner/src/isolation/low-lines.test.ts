import { mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { ToolCallPolicy } from '@countersign/policy';
import { defaultLimits } from '@countersign/protocol';
import { realDisk, type TemporaryWorkspace, temporaryWorkspace } from '@countersign/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BuiltInTools } from '../built-in-tools.ts';
import { BackgroundJobs } from '../commands/background-jobs.ts';
import { GitRepository } from '../git/git-repository.ts';
import { cannotIsolate } from './isolation-fixture.test-data.ts';
import { IsolatingStarter } from './process-starter.ts';

/** Runs the shell lines that need no approval, and checks what they print and that it contains no secret. */
describe.skipIf(cannotIsolate)('[RK-2] [RN-5] a LOW shell line', () => {
  const canary = 'canary-20b7';
  let workspace: TemporaryWorkspace;
  let starter: IsolatingStarter;
  let executor: BuiltInTools;

  beforeAll(() => {
    workspace = temporaryWorkspace();
    for (const path of ['.env', 'src/.env.local', 'data/credentials.json', 'docs/server.key']) {
      mkdirSync(join(workspace.root, path, '..'), { recursive: true });
      writeFileSync(join(workspace.root, path), `KEY=${canary}\n`);
    }
    const stateFolder = join(workspace.outside, '..', 'state');
    mkdirSync(stateFolder);
    const runner = {
      root: workspace.root,
      stateFolder,
      limits: defaultLimits,
      home: homedir(),
      addedEnvironment: [],
    };
    starter = new IsolatingStarter(runner);
    const git = new GitRepository(runner, starter);
    const jobs = new BackgroundJobs(starter, defaultLimits.outputStreamBytes);
    executor = new BuiltInTools({ shell: { workspace: runner, starter, git, jobs } });
  });
  afterAll(async () => {
    await executor.dispose();
    await starter.dispose();
    workspace.remove();
  });

  async function run(command: string): Promise<string> {
    const policy = new ToolCallPolicy({ root: workspace.root, disk: realDisk });
    const { decision } = policy.decide('shell_exec', { command }).verdict;
    expect({ command, decision }).toEqual({ command, decision: 'LOW' });
    const call = { tool: 'shell_exec', params: { command, timeout: 10 } } as const;
    const result = await executor.execute(call, {
      toolId: 'tool-1',
      attempt: 1,
      sessionId: 'session-1',
      riskLevel: 'LOW',
      network: false,
      signal: new AbortController().signal,
      onProgress: () => {},
      changes: { begin: () => {} },
    });
    expect(JSON.stringify(result)).not.toContain(canary);
    return String(result.stdout);
  }

  it.each([
    ['grep -rn TODO src | head -1', 'src/index.js:2:// TODO start\n'],
    ['cd docs && cat *.md | wc -l; ls ..', /^2\n[\s\S]*README\.md/],
    ["sed -n '1p' README.md; awk -F, 'NR>1 {print $2}' data/users.csv", '# Demo v1\nalice\n'],
    ['for f in src/*.py; do echo "$f"; done', 'src/server.py\n'],
    ['[ -f README.md ] && echo yes || echo no', 'yes\n'],
    ["find . -name '*.md' -not -path './.git/*' | sort | xargs wc -l | tail -1", /\d+ total/],
    ['x=docs; ls "$x" | sort -r | tail -1', 'guide.md\n'],
    ['cat <<EOF | tr a-z A-Z\nhello\nEOF', 'HELLO\n'],
    ['false; echo "exit: $?"', 'exit: 1\n'],
    ['git status --short > /dev/null 2>&1; echo $?', /^\d+\n$/],
  ])('%s', async (line, expected) => {
    const printed = await run(line);
    if (typeof expected === 'string') expect(printed).toBe(expected);
    else expect(printed).toMatch(expected);
  });

  it.each([
    'ls -la .env; stat -c %n .env; test -f .env && echo there',
    'grep -rn KEY . ; cat data/*.json; cat docs/* src/*; head -5 */*',
    'find . -type f | xargs cat',
    'find . -name "*.json" -print0 | xargs -0 cat',
    'for f in data/*; do cat "$f"; done',
    'du -a . | tail -3; tree -a . 2>/dev/null | tail -2',
    'cat data/c* 2>/dev/null; strings data/* | head',
  ])('[VA-2] shows no secret: %s', async (line) => {
    await run(line);
  });
});
