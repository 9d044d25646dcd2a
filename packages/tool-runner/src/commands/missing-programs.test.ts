import { expect, it } from 'vitest';
import { explainMissingPrograms, missingPrograms } from './missing-programs.ts';

it.each([
  ['bash: line 1: cargo: command not found', ['cargo']],
  ['sh: 1: go: not found', ['go']],
  ['/bin/sh: 1: tsc: not found\nmake: *** [Makefile:2: all] Error 127', ['tsc']],
  ['/usr/bin/env: ‘python3.12’: No such file or directory', ['python3.12']],
  ["env: 'node': No such file or directory", ['node']],
  ['make: g++: No such file or directory', ['g++']],
  ['Error: spawn uv ENOENT', ['uv']],
  ['a: 1: b: not found\na: 2: b: not found\na: 3: c: not found', ['b', 'c']],
  ['module x: not found\nbash: line 1: ./x: No such file or directory', []],
])('finds in %j the programs that were missing', (stderr, names) => {
  expect(missingPrograms(stderr)).toEqual(names);
});

it.each([
  'bash: line 1: .venv/bin/pytest: cannot execute: required file not found',
  '/ws/venv/bin/pip: /ws/venv/bin/python: bad interpreter: No such file or directory',
  'make: .venv/bin/python: No such file or directory',
])('finds in %j that the interpreter of an environment was missing', (stderr) => {
  expect(explainMissingPrograms({ explainHidden: (name) => name }, stderr)).toEqual([
    'python of the workspace',
  ]);
});
