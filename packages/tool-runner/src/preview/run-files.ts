import { hash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { isAbsolute, relative, resolve } from 'node:path';
import type { CommandOperand } from '@countersign/policy';
import { CountersignError } from '@countersign/protocol';
import { type FileVersion, identityNow, takeSnapshot } from '../files/file-snapshot.ts';
import { findPlace, openDirectory, type WorkspaceDirectory } from '../files/workspace-directory.ts';
import { failedWith, fileFailure, realDisk } from '../real-disk.ts';
import type { Workspace } from '../workspace.ts';
import type { DigestedFile } from './call-digest.ts';

/**
 * Returns the workspace files that a command would execute, with their versions (AP-8). The version of an executed
 * directory (`node .`) covers the files directly in it. For a git configuration, its hook directories and included files
 * are added. Throws FILE_TOO_LARGE.
 */
export async function runFiles(
  workspace: Workspace,
  operands: readonly CommandOperand[],
): Promise<DigestedFile[]> {
  const paths = new Set(operands.filter(({ use }) => use === 'run').map(({ path }) => path));
  for (const config of [...paths].filter(isGitConfig))
    for (const path of await namedByConfig(workspace, config)) paths.add(path);
  const files: DigestedFile[] = [];
  for (const path of paths) {
    try {
      files.push(await versionAt(workspace, path));
    } catch (error) {
      throw fileFailure(error, path, 'READ_FAILED');
    }
  }
  return files;
}

const isGitConfig = (path: string): boolean => /(^|\/)\.git\/config$/.test(path);

const MAX_INCLUDES = 20;

/** Returns the hook folders and included files in the workspace that a git configuration names. */
async function namedByConfig(workspace: Workspace, config: string): Promise<ReadonlySet<string>> {
  const { root } = workspace;
  const named = new Set<string>();
  const todo = [config];
  for (let file = todo.pop(); file !== undefined && named.size < MAX_INCLUDES; file = todo.pop()) {
    const text = Buffer.from((await snapshotAt(workspace, file))?.bytes ?? []).toString('utf8');
    for (const { section, name, value } of readConfigValues(text)) {
      const isHooks = section === 'core' && name === 'hookspath';
      const isIncluded = (section === 'include' || section === 'includeif') && name === 'path';
      if (!isHooks && !isIncluded) continue;
      // Hook paths are relative to the work tree's root, included files to the file that names them.
      const path = relative(
        root,
        isHooks ? resolve(root, config, '../..', value) : resolve(root, file, '..', value),
      );
      if (path.startsWith('..') || isAbsolute(path) || named.has(path)) continue;
      named.add(path);
      if (isIncluded) todo.push(path);
    }
  }
  return named;
}

async function snapshotAt({ root, limits }: Workspace, asked: string) {
  const { directory, name, path } = findPlace(root, asked);
  try {
    return directory && (await takeSnapshot(directory, name, { path, maxBytes: limits.fileBytes }));
  } catch {
    return undefined; // not a file that git can read; versionAt throws or records its state
  } finally {
    directory?.close();
  }
}

async function versionAt(workspace: Workspace, asked: string): Promise<DigestedFile> {
  if (asked === '') return directoryAt(workspace, '');
  const { directory, name, path } = findPlace(workspace.root, asked);
  if (!directory) return { path, part: 'run', version: null };
  try {
    const snapshot = await takeSnapshot(directory, name, { path, maxBytes: workspace.limits.fileBytes });
    return { path, part: 'run', version: snapshot?.version ?? null };
  } catch (error) {
    if (error instanceof CountersignError && error.code === 'IS_A_DIRECTORY')
      return directoryAt(workspace, path);
    throw error;
  } finally {
    directory.close();
  }
}

async function directoryAt({ root }: Workspace, path: string): Promise<DigestedFile> {
  const directory = openDirectory(root, path);
  try {
    return { path, part: 'run', version: await versionOfEntries(directory) };
  } finally {
    directory.close();
  }
}

/** In a directory, a larger file is compared only by its size and times. */
const MAX_FILE_BYTES = 1024 * 1024;
/** Limit for all files of a directory together. Further files are compared only by their size and times. */
const MAX_TOTAL_BYTES = 16 * 1024 * 1024;

async function versionOfEntries(directory: WorkspaceDirectory): Promise<FileVersion> {
  const entries: string[] = [];
  let room = MAX_TOTAL_BYTES;
  for (const name of readdirSync(directory.at('.')).sort()) {
    const { state, bytes } = await entryState(directory, name, Math.min(room, MAX_FILE_BYTES));
    room -= bytes;
    entries.push(`${name}\0${state}`);
  }
  return `sha256:${hash('sha256', JSON.stringify(entries))}`;
}

/** Returns the version of a file, the target of a link, or an error code. `bytes` is the number of bytes read. */
async function entryState(
  directory: WorkspaceDirectory,
  name: string,
  maxBytes: number,
): Promise<{ state: string; bytes: number }> {
  try {
    const snapshot = await takeSnapshot(directory, name, { path: name, maxBytes });
    return { state: snapshot?.version ?? 'gone', bytes: snapshot?.bytes.length ?? 0 };
  } catch (error) {
    if (!(error instanceof CountersignError) && !failedWith(error, 'EACCES')) throw error;
    const { code } = error as CountersignError | NodeJS.ErrnoException;
    if (code === 'FILE_TOO_LARGE') return { state: identityNow(directory, name) ?? 'gone', bytes: 0 };
    const target = realDisk.readLink(directory.at(name));
    return { state: target === undefined ? String(code) : `link to ${target}`, bytes: 0 };
  }
}

/** One setting of a git configuration. Section and name are in lower case; the subsection is dropped. */
interface ConfigValue {
  readonly section: string;
  readonly name: string;
  readonly value: string;
}

const header = /\[\s*([A-Za-z0-9.-]+)(?:\s+"(?:[^"\\\n]|\\.)*")?\s*\]/y;
const nameAndEquals = /([A-Za-z][A-Za-z0-9-]*)[ \t]*(=[ \t]*)?/y;
/** The raw value up to the end of the line or a comment. It may have quoted parts and escaped line ends. */
const rawValue = /(?:"(?:[^"\\\n]|\\[\s\S])*"|\\\r?\n|\\.|[^"\\#;\n])*/y;
const blank = /\s+/y;
const restOfLine = /[^\n]*/y;

/**
 * Parses a git configuration like git: several settings may share a line with their section header, and a value may be
 * partly quoted, continue in the next line, and be followed by a comment. Invalid text is skipped. Use this only for the
 * digest (AP-8); GitRepository asks git itself.
 */
function readConfigValues(text: string): ConfigValue[] {
  const values: ConfigValue[] = [];
  let section = '';
  let at = text.startsWith('\ufeff') ? 1 : 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found;
  };
  while (at < text.length) {
    if (take(blank)) continue;
    const heading = take(header);
    if (heading) {
      section = (heading[1] ?? '').split('.', 1)[0]?.toLowerCase() ?? '';
      continue;
    }
    const named = take(nameAndEquals);
    if (named?.[2] !== undefined) {
      const value = plain(take(rawValue)?.[0] ?? '');
      values.push({ section, name: (named[1] ?? '').toLowerCase(), value });
    }
    take(restOfLine); // a comment or invalid text
  }
  return values;
}

/** Removes quotes, trailing blanks and escapes. */
function plain(raw: string): string {
  const escaped: Readonly<Record<string, string>> = { n: '\n', t: '\t', b: '\b', '\n': '', '\r\n': '' };
  return raw
    .trimEnd()
    .replace(/\\(\r\n|[\s\S])|"/g, (whole, character?: string) =>
      character === undefined ? whole.replace('"', '') : (escaped[character] ?? character),
    );
}
