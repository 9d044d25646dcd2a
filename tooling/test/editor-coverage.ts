/**
 * Line coverage of the VS Code extension by the stories in the real editor. Its extension hosts write V8's counts when
 * they end (NODE_V8_COVERAGE); the source maps of the bundle lead back to our files.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { Profiler } from 'node:inspector';
import { basename, join, relative, resolve } from 'node:path';
import { convert } from 'ast-v8-to-istanbul';
import { parseAstAsync } from 'vitest/node';
import { repositoryRoot } from '../set-up.mjs';
import {
  addLines,
  type CoveredFile,
  coveredFile,
  type Lines,
  type StatementCounts,
} from './line-coverage.ts';

const dist = join(repositoryRoot, 'apps', 'vscode', 'dist');
/** Files that run only in an editor. The extension's other files are counted by their own tests. */
const onlyInEditor = /^apps\/vscode\/src\/(?:extension\.ts|editor\/)/;

/** `folder`: the reports of the extension hosts. */
export async function editorCoverage(folder: string): Promise<CoveredFile[]> {
  const reached = new Map<string, Lines>();
  for (const name of readdirSync(folder)) {
    const { result } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Report;
    for (const script of result) await addScript(script, reached);
  }
  return [...reached].map(([path, lines]) => coveredFile(path, lines)).sort(byPath);
}

/** Coverage of the extension's other files, which Vitest counted in the unit part. */
export function unitCoverage(): CoveredFile[] {
  const report = join(repositoryRoot, 'coverage', 'coverage-final.json');
  const files = JSON.parse(readFileSync(report, 'utf8')) as Record<string, StatementCounts>;
  return Object.entries(files)
    .map(([path, counts]) => coveredFile(relative(repositoryRoot, path), addLines(new Map(), counts)))
    .filter(({ path }) => path.startsWith('apps/vscode/src/'))
    .sort(byPath);
}

const byPath = (one: CoveredFile, other: CoveredFile): number => one.path.localeCompare(other.path);

interface Report {
  readonly result: readonly ScriptCoverage[];
}
type ScriptCoverage = Pick<Profiler.ScriptCoverage, 'url' | 'functions'>;
interface Bundle {
  readonly code: string;
  readonly sourceMap: { readonly sources: readonly string[] };
}
const bundles = new Map<string, Bundle | undefined>();

/** A script of the packaged extension that contains counted files; undefined for any other script. */
function bundleOf(url: string): Bundle | undefined {
  if (!/\/countersign[^/]*\/dist\/[^/]+$/.test(url)) return undefined;
  const path = join(dist, basename(url));
  if (!bundles.has(path)) bundles.set(path, readBundle(path));
  return bundles.get(path);
}

function readBundle(path: string): Bundle | undefined {
  if (!existsSync(`${path}.map`)) return undefined;
  const sourceMap = JSON.parse(readFileSync(`${path}.map`, 'utf8')) as Bundle['sourceMap'];
  const counts = sourceMap.sources.some((source) => onlyInEditor.test(sourcePath(source)));
  return counts ? { code: readFileSync(path, 'utf8'), sourceMap } : undefined;
}

const sourcePath = (source: string): string => relative(repositoryRoot, resolve(dist, source));

/** A line that any process reached counts as reached. */
async function addScript({ url, functions }: ScriptCoverage, reached: Map<string, Lines>): Promise<void> {
  const bundle = bundleOf(url);
  if (!bundle) return;
  const covered = await convert({
    code: bundle.code,
    sourceMap: bundle.sourceMap as never, // rolldown's format
    coverage: { url: `file://${join(dist, basename(url))}`, functions },
    ast: parseAstAsync(bundle.code) as never, // the same tree, typed by another package
  });
  for (const [path, file] of Object.entries(covered)) {
    const source = sourcePath(path);
    if (!onlyInEditor.test(source)) continue;
    reached.set(source, addLines(reached.get(source) ?? new Map(), file));
  }
}
