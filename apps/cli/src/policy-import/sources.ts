import { readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import type { Environment } from '../command-context.ts';
import { readClaude } from './claude.ts';
import { readCodexConfig, readCodexRules } from './codex.ts';
import { type ForeignRule, type Source, unreadable } from './foreign-rule.ts';
import { readGeminiPolicy, readGeminiSettings } from './gemini.ts';
import { readOpencode } from './opencode.ts';
import { readVscode } from './vscode.ts';

export const sources: readonly Source[] = ['claude', 'codex', 'gemini', 'opencode', 'vscode'];

/** More than anybody writes by hand. */
const MAX_BYTES = 4 * 1024 * 1024;

type Read = (text: string, file: string) => ForeignRule[];

/** Reads a file of the source; its name says which of the source's files it is. */
export function readForeignFile(source: Source, path: string): ForeignRule[] {
  let text: string;
  try {
    if (statSync(path).size > MAX_BYTES) throw unreadable(path, `it has more than ${MAX_BYTES} bytes`);
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw (error as { code?: string }).code === 'IMPORT_UNREADABLE'
      ? error
      : unreadable(path, (error as Error).message);
  }
  return readerOf(source, path)(text, path);
}

function readerOf(source: Source, path: string): Read {
  const isToml = path.endsWith('.toml');
  const readers: Readonly<Record<Source, Read>> = {
    claude: readClaude,
    codex: isToml ? readCodexConfig : readCodexRules,
    gemini: isToml ? readGeminiPolicy : readGeminiSettings,
    opencode: readOpencode,
    vscode: readVscode,
  };
  return readers[source];
}

/** The files that the source usually has: of the person, and of the project in this folder. */
export function usualFiles(source: Source, project: string, env: Environment): readonly string[] {
  const home = env.HOME || homedir();
  const config = env.XDG_CONFIG_HOME?.startsWith('/') ? env.XDG_CONFIG_HOME : join(home, '.config');
  const claude = env.CLAUDE_CONFIG_DIR || join(home, '.claude');
  const codex = env.CODEX_HOME || join(home, '.codex');
  const gemini = join(home, '.gemini');
  const vscode = ['Code', 'Code - Insiders', 'VSCodium'].flatMap((name) => [
    join(config, name, 'User', 'settings.json'),
    join(home, 'Library', 'Application Support', name, 'User', 'settings.json'),
    ...(env.APPDATA ? [join(env.APPDATA, name, 'User', 'settings.json')] : []),
  ]);
  const places: Readonly<Record<Source, readonly string[]>> = {
    claude: [
      join(claude, 'settings.json'),
      join(project, '.claude', 'settings.json'),
      join(project, '.claude', 'settings.local.json'),
    ],
    codex: [
      join(codex, 'config.toml'),
      ...filesIn(join(codex, 'rules'), '.rules'),
      ...filesIn(join(codex, 'policy'), '.codexpolicy'),
      ...filesIn(join(project, '.codex', 'rules'), '.rules'),
    ],
    gemini: [
      join(gemini, 'settings.json'),
      ...filesIn(join(gemini, 'policies'), '.toml'),
      join(project, '.gemini', 'settings.json'),
      ...filesIn(join(project, '.gemini', 'policies'), '.toml'),
    ],
    opencode: [join(config, 'opencode'), project].flatMap((folder) => [
      join(folder, 'opencode.json'),
      join(folder, 'opencode.jsonc'),
    ]),
    vscode: [
      ...vscode,
      join(home, '.vscode-server', 'data', 'Machine', 'settings.json'),
      join(project, '.vscode', 'settings.json'),
    ],
  };
  return [...new Set(places[source])].filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile());
}

function filesIn(folder: string, ending: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => basename(name).endsWith(ending))
      .sort()
      .map((name) => join(folder, name));
  } catch {
    return [];
  }
}
