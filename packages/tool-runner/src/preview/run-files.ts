import { hash } from 'node:crypto';
import { readdirSync, readlinkSync } from 'node:fs';
import { isAbsolute, relative, resolve } from 'node:path';
import type { CommandOperand } from '@countersign/policy';
import { CountersignError } from '@countersign/protocol';
import { type FileVersion, identityNow, takeSnapshot } from '../files/file-snapshot.ts';
import { findPlace, openDirectory, type WorkspaceDirectory } from '../files/workspace-directory.ts';
import { failedWith, fileFailure } from '../real-disk.ts';
import type { Workspace } from '../workspace.ts';
import type { DigestedFile } from './call-digest.ts';

/**
 * The files of the workspace that a command would execute, with their versions (AP-8). Where a directory is executed
 * (`node .`), its version is that of the files directly in it. Where git's configuration is among them, so are the
 * directories that it names for hooks, and what it includes. Throws FILE_TOO_LARGE over the file limit.
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

/** What a git configuration names in the workspace: the folders of hooks, and the files that it includes. */
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
      // Hooks are looked for from the top of the work tree, included files from the file that names them.
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
    return undefined; // no file that git could read; its version says what it is
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

/** How much is read of a file, and of all files in a directory. Of larger files, only size and times are compared. */
const MAX_FILE_BYTES = 1024 * 1024;
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

/** The version of a file, the target of a link, or else only the kind of the entry. */
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
    return { state: linkAt(directory, name) ?? String(code), bytes: 0 };
  }
}

function linkAt(directory: WorkspaceDirectory, name: string): string | undefined {
  try {
    return `link to ${readlinkSync(directory.at(name))}`;
  } catch {
    return undefined;
  }
}

/** One `name = value` of a git configuration, whatever subsection it stands in. Section and name in lower case. */
interface ConfigValue {
  readonly section: string;
  readonly name: string;
  readonly value: string;
}

const header = /\[\s*([A-Za-z0-9.-]+)(?:\s+"(?:[^"\\\n]|\\.)*")?\s*\]/y;
const nameAndEquals = /([A-Za-z][A-Za-z0-9-]*)[ \t]*(=[ \t]*)?/y;
/** Up to the end of the line or a comment: in quotes, escaped (also the end of the line), or plain. */
const rawValue = /(?:"(?:[^"\\\n]|\\[\s\S])*"|\\\r?\n|\\.|[^"\\#;\n])*/y;
const blank = /\s+/y;
const restOfLine = /[^\n]*/y;

/**
 * Reads the text of a git configuration as git does: several settings may stand in one line with their section, values
 * may be quoted in part, go on in the next line and have a comment behind them. What git would call an error is passed
 * over. For what git itself must believe there is GitRepository, which asks git; this is for the digest (AP-8).
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
    take(restOfLine); // a comment, or nothing that we know
  }
  return values;
}

/** Without quotes, escapes, and the blanks behind it that are not quoted. */
function plain(raw: string): string {
  const escaped: Readonly<Record<string, string>> = { n: '\n', t: '\t', b: '\b', '\n': '', '\r\n': '' };
  return raw
    .trimEnd()
    .replace(/\\(\r\n|[\s\S])|"/g, (whole, character?: string) =>
      character === undefined ? whole.replace('"', '') : (escaped[character] ?? character),
    );
}
