import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A small project as a person has it on disk: its files, and what a plain shell does to set it up. */
export interface RealProject {
  readonly files: Readonly<Record<string, string>>;
  readonly setUp?: string;
}

const node: RealProject = {
  files: {
    'package.json': JSON.stringify({
      name: 'demo',
      version: '1.0.0',
      type: 'module',
      scripts: {
        test: 'node --test',
        build: 'node scripts/build.js',
        lint: 'node --check src/index.js',
        hello: 'echo hello $NODE_ENV',
      },
      dependencies: { greeter: 'file:./greeter' },
    }),
    'src/index.js':
      "import { greet } from 'greeter';\n\n// TODO take the name from a file\nconsole.log(greet(process.argv[2] ?? 'world'));\n",
    'src/sum.js': 'export const sum = (a, b) => a + b;\n',
    'tests/sum.test.js':
      "import assert from 'node:assert';\nimport { test } from 'node:test';\nimport { sum } from '../src/sum.js';\n\ntest('adds', () => assert.equal(sum(2, 3), 5));\n",
    'scripts/build.js':
      "import { mkdirSync, writeFileSync } from 'node:fs';\n\nmkdirSync('dist', { recursive: true });\nwriteFileSync('dist/out.json', '{\"built\":true}');\n",
    // A server and its client in one process: the loopback must work.
    'scripts/ping.js':
      "import { createServer } from 'node:http';\n\nconst server = createServer((_, answer) => answer.end('pong'));\nserver.listen(0, '127.0.0.1', async () => {\n  const answer = await fetch('http://127.0.0.1:' + server.address().port);\n  console.log(await answer.text());\n  server.close();\n});\n",
    'scripts/run.sh': '#!/bin/sh\nexec node src/index.js "$@"\n',
    'greeter/package.json': JSON.stringify({
      name: 'greeter',
      version: '0.1.0',
      type: 'module',
      main: 'index.js',
      bin: { greet: 'cli.js' },
    }),
    'greeter/index.js': "export const greet = (name) => 'hello ' + name;\n",
    'greeter/cli.js':
      "#!/usr/bin/env node\nimport { greet } from './index.js';\n\nconsole.log(greet(process.argv[2] ?? 'nobody'));\n",
    '.env': 'MODE=from-file\n',
    '.env.example': 'MODE=\n',
    'README.md': '# Demo\n',
  },
  setUp: 'chmod +x greeter/cli.js',
};

const python: RealProject = {
  files: {
    'pyproject.toml': '[project]\nname = "demo"\nversion = "1.0.0"\n',
    'demo/__init__.py': "NAME = 'demo'\n",
    'demo/calc.py':
      "import sys\n\n\ndef add(a, b):\n    return a + b\n\n\ndef double(a):\n    return add(a, a)\n\n\nif __name__ == '__main__':\n    print(add(int(sys.argv[1]), int(sys.argv[2])))\n",
    'tests/__init__.py': '',
    'tests/test_calc.py':
      'import unittest\n\nfrom demo.calc import add, double\n\n\nclass CalcTest(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n\n    def test_double(self):\n        self.assertEqual(double(2), 4)\n',
    'scripts/gen.py': "import json\n\nprint(json.dumps({'rows': [1, 2, 3]}))\n",
    'data/in.csv': 'id,name\n2,bob\n1,ann\n',
  },
  setUp: '/usr/bin/python3 -m venv --without-pip .venv',
};

const c: RealProject = {
  files: {
    Makefile:
      'CFLAGS ?= -O0 -Wall\nSOURCES := src/main.c src/add.c\n\napp: $(SOURCES) include/add.h\n\t$(CC) $(CFLAGS) -Iinclude -o $@ $(SOURCES)\n\ntest: app\n\t./app 2 3 | grep -qx 5 && echo passed\n\nclean:\n\trm -f app\n\n.PHONY: test clean\n',
    'CMakeLists.txt':
      'cmake_minimum_required(VERSION 3.10)\nproject(demo C)\nadd_executable(demo src/main.c src/add.c)\ntarget_include_directories(demo PRIVATE include)\nenable_testing()\nadd_test(NAME adds COMMAND demo 2 3)\n',
    'include/add.h': 'int add(int a, int b);\n',
    'src/add.c': '#include "add.h"\n\nint add(int a, int b) { return a + b; }\n',
    'src/main.c':
      '#include <stdio.h>\n#include <stdlib.h>\n#include "add.h"\n\nint main(int argc, char **argv) {\n  if (argc < 3) return 2;\n  printf("%d\\n", add(atoi(argv[1]), atoi(argv[2])));\n  return 0;\n}\n',
    'src/broken.c': 'int main(void) { return undeclared; }\n',
  },
};

const git: RealProject = {
  files: {
    'notes.md': '# Notes\none\ntwo\n',
    'src/app.js': 'console.log(1);\n',
    '.gitignore': '.env\nbuild/\n',
    '.env': 'SECRET=made-up\n',
  },
  setUp: `git init -q -b main && git add -A && git commit -qm first && echo three >> notes.md && git commit -qam second
    git init -q --bare ../remote.git && git remote add origin ../remote.git && git push -q -u origin main`,
};

export const realProjects: Readonly<Record<string, RealProject>> = { node, python, c, git };

/** One of two equal worlds: a project, a home with a name for git, and what lies beside the project. */
export interface World {
  readonly root: string;
  readonly home: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** Commits of both worlds get the same time, so that they are equal. */
const TIME = '2026-01-02T03:04:05Z';

/** Writes the project's files and sets it up in a plain shell. The root may exist already. */
export function makeWorld(parent: string, project: RealProject, path: readonly string[]): World {
  const root = join(parent, 'workspace');
  const home = join(parent, 'home');
  for (const folder of [root, home]) mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(home, '.gitconfig'),
    '[user]\n\tname = Ann\n\temail = ann@example.org\n[init]\n\tdefaultBranch = main\n',
  );
  for (const [name, content] of Object.entries(project.files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), content);
    chmodSync(join(root, name), 0o644);
  }
  const environment = { PATH: path.join(':'), HOME: home, LANG: 'C.UTF-8', TERM: 'dumb', TMPDIR: '/tmp' };
  if (project.setUp !== undefined) {
    const env = { ...environment, GIT_AUTHOR_DATE: TIME, GIT_COMMITTER_DATE: TIME };
    execFileSync('bash', ['--noprofile', '--norc', '-ec', project.setUp], { cwd: root, env, stdio: 'pipe' });
  }
  return { root, home, environment };
}
