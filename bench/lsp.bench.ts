import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BuiltInToolCall, defaultLimits } from '@countersign/protocol';
import { BuiltInTools } from '../packages/tool-runner/src/built-in-tools.ts';
import { IsolatingStarter } from '../packages/tool-runner/src/isolation/process-starter.ts';
import { LspExecutor } from '../packages/tool-runner/src/lsp/lsp-executor.ts';
import { measureSlow } from './measure.ts';
import type { Bench, Row } from './results.ts';

/** Modules of each project. All of them use the module that is queried. */
const MODULES = 200;
const warmLimit = 50e6;

interface Language {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  /** Position of the function that every module uses. */
  readonly path: string;
  readonly line: number;
  readonly col: number;
}

/** Language tools with real, isolated servers: the first answer, which includes the server's start, and warm ones. */
const lspBench: Bench = {
  name: `language tools, projects of ${MODULES} modules`,
  async run(): Promise<readonly Row[]> {
    const projects = [typeScript(), python()].map((language) => new Project(language));
    try {
      const first = await measureSlow(
        Object.fromEntries(
          projects.map((project) => [`${project.name}: first answer`, () => project.firstAnswer()]),
        ),
        { runs: 3 },
      );
      const questions = projects.flatMap((project) =>
        project
          .questions()
          .map((call) => [`${project.name}: ${call.tool}`, () => project.ask(call)] as const),
      );
      const afterChange = projects.map(
        (project) => [`${project.name}: hover after a change`, () => project.changeAndAsk()] as const,
      );
      const warm = await measureSlow(Object.fromEntries(questions), { runs: 20 });
      const changed = await measureSlow(Object.fromEntries(afterChange), { runs: 20 });
      return [...first, ...[...warm, ...changed].map((row) => ({ ...row, limit: warmLimit }))];
    } finally {
      await Promise.all(projects.map((project) => project.remove()));
    }
  },
};
export default lspBench;

/** A real folder, and an executor that is kept for the warm queries. */
class Project {
  readonly name: string;
  readonly #language: Language;
  readonly #folder = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-bench-')));
  readonly #warm: LspExecutor;
  #changes = 0;

  constructor(language: Language) {
    this.name = language.name;
    this.#language = language;
    for (const folder of ['workspace/src', 'state', 'home'])
      mkdirSync(join(this.#folder, folder), { recursive: true });
    for (const [path, content] of Object.entries(language.files)) this.#write(path, content);
    this.#warm = this.#executor();
  }

  async firstAnswer(): Promise<void> {
    const executor = this.#executor();
    try {
      await execute(executor, this.#at('hover'));
    } finally {
      await executor.dispose();
    }
  }

  questions(): readonly BuiltInToolCall[] {
    const { path } = this.#language;
    return [
      this.#at('hover'),
      this.#at('definition'),
      this.#at('references'),
      { tool: 'symbols', params: { path } },
      { tool: 'diagnostics', params: { path } },
    ];
  }

  ask(call: BuiltInToolCall): Promise<void> {
    return execute(this.#warm, call);
  }

  /** Edits the file, and queries its new content. */
  changeAndAsk(): Promise<void> {
    const { path, files } = this.#language;
    this.#changes += 1;
    this.#write(path, `${files[path]}\n${this.#changes}\n`);
    return this.ask(this.#at('hover'));
  }

  async remove(): Promise<void> {
    await this.#warm.dispose();
    rmSync(this.#folder, { recursive: true });
  }

  #at(tool: 'hover' | 'definition' | 'references'): BuiltInToolCall {
    const { path, line, col } = this.#language;
    return { tool, params: { path, line, col } };
  }

  #write(path: string, content: string): void {
    writeFileSync(join(this.#folder, 'workspace', path), content);
  }

  #executor(): LspExecutor {
    const workspace = {
      root: join(this.#folder, 'workspace'),
      stateFolder: join(this.#folder, 'state'),
      home: join(this.#folder, 'home'),
      limits: defaultLimits,
      addedEnvironment: [],
    };
    return new LspExecutor({
      workspace,
      starter: new IsolatingStarter(workspace, { allowUnisolated: true }),
    });
  }
}

async function execute(executor: LspExecutor, call: BuiltInToolCall): Promise<void> {
  await new BuiltInTools({ lsp: executor }).execute(call, {
    toolId: 'bench',
    attempt: 1,
    sessionId: 'bench',
    riskLevel: 'LOW',
    network: false,
    signal: new AbortController().signal,
    onProgress() {},
    changes: { begin() {} },
  });
}

function typeScript(): Language {
  const user = (n: number) =>
    `import { shared } from './shared.js';\nexport const value${n} = shared('${n}').length;\n`;
  return {
    name: 'TypeScript',
    files: {
      'tsconfig.json': '{ "compilerOptions": { "strict": true, "module": "nodenext" }, "include": ["src"] }',
      'src/shared.ts':
        '/** Used by all. */\nexport function shared(name: string): string {\n  return name;\n}\n',
      ...modules((n) => [`src/module${n}.ts`, user(n)]),
    },
    path: 'src/shared.ts',
    line: 2,
    col: 17,
  };
}

function python(): Language {
  const user = (n: number) => `from src.shared import shared\n\nvalue_${n} = len(shared("${n}"))\n`;
  return {
    name: 'Python',
    files: {
      'src/__init__.py': '',
      'src/shared.py': 'def shared(name: str) -> str:\n    """Used by all."""\n    return name\n',
      ...modules((n) => [`src/module${n}.py`, user(n)]),
    },
    path: 'src/shared.py',
    line: 1,
    col: 5,
  };
}

function modules(make: (n: number) => readonly [string, string]): Record<string, string> {
  return Object.fromEntries(Array.from({ length: MODULES }, (_, n) => make(n)));
}
