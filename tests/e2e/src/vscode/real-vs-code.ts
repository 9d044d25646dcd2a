/**
 * Installs a real VS Code for the tests from npm alone: the package code-server is VS Code 1.139 with its workbench in
 * the browser. 820 MB, about a minute; kept in the user's cache folder, outside every checkout.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { arch, env, platform } from 'node:process';
import { logModule } from './log-module.ts';

const version = '4.139.1';
const nodeVersion = '24.21.0';

/** The install folder. Raise the last number when the install steps change. */
const vsCodeFolder = join(
  env.XDG_CACHE_HOME || join(homedir(), '.cache'),
  'countersign',
  `code-server-${version}-1`,
);

/** The program that a test starts: `node entry.js --auth none …`. */
export const vsCodeProgram = {
  node: join(vsCodeFolder, 'node_modules', `node-${platform}-${arch}`, 'bin', 'node'),
  entry: join(vsCodeFolder, 'node_modules', 'code-server', 'out', 'node', 'entry.js'),
};

/** Raise the number when something is added that needs no new download. */
const stamp = join(vsCodeFolder, '.complete-2');

export const isVsCodeInstalled = (): boolean => existsSync(stamp);

/** Installs it step by step. Finished steps are not repeated, so an interrupted install continues. */
export async function installVsCode(): Promise<boolean> {
  console.log('Installing a real VS Code (code-server), which the tests need. It takes about a minute …');
  mkdirSync(vsCodeFolder, { recursive: true });
  const program = join(vsCodeFolder, 'node_modules', 'code-server');
  const editor = join(program, 'lib', 'vscode');
  const steps: [name: string, take: () => Promise<boolean>][] = [
    [
      'packages',
      () => {
        writeFileSync(join(vsCodeFolder, 'package.json'), '{"private": true}\n');
        return npm(
          vsCodeFolder,
          '--no-save',
          `code-server@${version}`,
          `node-${platform}-${arch}@${nodeVersion}`,
        );
      },
    ],
    ['editor', () => npm(editor, '--omit=dev')],
    ['extensions', () => npm(join(editor, 'extensions'), '--omit=dev')],
  ];
  for (const [name, take] of steps) {
    const done = join(vsCodeFolder, `.${name}`);
    if (existsSync(done)) continue;
    if (!(await take())) return false;
    writeFileSync(done, '');
  }
  replace(join(editor, 'node_modules', '@vscode', 'spdlog', 'index.js'), logModule);
  link('code-linux.sh', join(editor, 'bin', 'remote-cli', 'code-server'));
  link('browser-linux.sh', join(editor, 'bin', 'helpers', 'browser.sh'));
  writeFileSync(`${stamp}.draft`, '');
  renameSync(`${stamp}.draft`, stamp);
  return true;
}

async function npm(folder: string, ...args: string[]): Promise<boolean> {
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline'];
  const command = ['--prefix', folder, 'install', ...options, ...args];
  const child = spawn('npm', command, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  return new Promise((resolve) => {
    child.on('error', () => resolve(false));
    child.on('close', (code) => {
      if (code !== 0) console.error(said.trim().split('\n').slice(-20).join('\n'));
      resolve(code === 0);
    });
  });
}

/** Replaces the file instead of writing to it: npm may share it with its cache. */
function replace(path: string, text: string): void {
  rmSync(path, { force: true });
  writeFileSync(path, text);
}

function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  try {
    if (readlinkSync(path) === target) return;
  } catch {
    // there was no link
  }
  rmSync(path, { force: true });
  symlinkSync(target, path);
}
