/** The files, exported names, routes, events and columns that docs/founding-documents.md names exist. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventSchemas, routes } from '@countersign/protocol';
import { describe, expect, it } from 'vitest';
import { columnsOf } from '../packages/engine/src/rows.ts';
import { repositoryRoot } from './set-up.mjs';

const read = (path: string): string => readFileSync(join(repositoryRoot, path), 'utf8');
const page = read('docs/founding-documents.md');

/** The rows of the table under a heading, each as its cells. */
function rowsUnder(heading: string): string[][] {
  const [, section = ''] = page.split(`## ${heading}\n`);
  const lines = (section.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}
const code = (cell = ''): string => /^`([^`]+)`$/.exec(cell)?.[1] ?? `not code: ${cell}`;

/** True for an export of TypeScript, a definition in Emacs Lisp, or a method of an exported class. */
function isDefinedIn(name: string, path: string): boolean {
  const text = read(path);
  const literal = name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const forms = path.endsWith('.el')
    ? [`^\\((?:defun|define-derived-mode|defvar|defcustom) ${literal}[ \\n]`]
    : [
        `^export (?:abstract |async )?(?:class|interface|function\\*?|const|type) ${literal}\\b`,
        `^export \\{[^}]*\\b${literal}\\b[^}]*\\}`,
        `^ +(?:async )?${literal}\\(`,
        `z\\.literal\\('${literal}'\\)`,
      ];
  return forms.some((form) => new RegExp(form, 'm').test(text));
}

describe('docs/founding-documents.md', () => {
  it.each(rowsUnder('Components'))('%s is %s in %s', (_, name, where) => {
    expect(existsSync(join(repositoryRoot, code(where)))).toBe(true);
    expect(isDefinedIn(code(name), code(where))).toBe(true);
  });

  it.each(rowsUnder('Endpoints'))('%s is the route %s', (endpoint, name) => {
    const route = Object.entries(routes).find(([known]) => known === code(name))?.[1];
    expect(`${route?.method} ${route?.path}`).toBe(code(endpoint));
  });

  it.each(rowsUnder('Events'))('%s is the event %s', (_, name) => {
    expect(Object.keys(eventSchemas)).toContain(code(name));
  });

  it.each(rowsUnder('Tables'))('%s is %s', (_, place) => {
    const [table = '', column = ''] = code(place).split('.');
    const columns = Object.entries(columnsOf).find(([known]) => known === table)?.[1] ?? {};
    expect(Object.keys(columns)).toContain(column);
  });

  it('has three filled cells for each decision: what, where, why', () => {
    const rows = rowsUnder('Decided otherwise');
    expect(rows.length).toBeGreaterThan(20);
    expect(rows.filter((cells) => cells.length !== 3 || cells.includes(''))).toEqual([]);
  });
});
