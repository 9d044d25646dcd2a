import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../../lab/src/server-process.ts';
import { until } from '../../../lab/src/waiting.ts';
import { vsCodeProgram } from './real-vs-code.ts';

const repository = fileURLToPath(new URL('../../../..', import.meta.url));

/** Packs the extension as `npm run package:vscode` does; returns the path of the file. */
export function packageExtension(): string {
  const script = join(repository, 'apps/vscode/scripts/package.ts');
  execFileSync(process.execPath, [script], { cwd: repository, stdio: 'pipe' });
  return join(repository, 'apps/vscode/dist/countersign.vsix');
}

export interface VsCodeOptions {
  /** The folder of all files of the editor and the person. */
  readonly home: string;
  /** The packaged extension; undefined: the plain editor. */
  readonly vsix?: string;
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Settings that only the machine may have, such as programs to start. */
  readonly machineSettings?: Readonly<Record<string, unknown>>;
  /** Asks the person before it trusts a folder. */
  readonly asksForTrust?: boolean;
}

/** A real VS Code whose window is a page in a browser, with the packaged extension installed. */
export class VsCode {
  readonly address: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  said = '';

  /** Set when coverage is counted. No other process has this home folder. */
  readonly #measuredHome: string | undefined;

  private constructor(address: string, child: ChildProcess, measuredHome: string | undefined) {
    this.address = address;
    this.#measuredHome = measuredHome;
    this.#child = child;
    const hear = (text: string) => {
      this.said += text;
    };
    child.stdout?.setEncoding('utf8').on('data', hear);
    child.stderr?.setEncoding('utf8').on('data', hear);
    this.#ended = new Promise((resolve) => child.once('close', () => resolve()));
  }

  static async start(options: VsCodeOptions): Promise<VsCode> {
    const { home, vsix, settings = {}, machineSettings = {}, asksForTrust = false } = options;
    const port = await freePort();
    const user = join(home, 'editor');
    const temporary = join(home, 'editor-tmp');
    mkdirSync(join(user, 'User'), { recursive: true });
    mkdirSync(join(user, 'Machine'), { recursive: true });
    mkdirSync(temporary, { recursive: true });
    writeFileSync(join(user, 'User', 'settings.json'), JSON.stringify({ ...quiet, ...settings }));
    writeFileSync(join(user, 'Machine', 'settings.json'), JSON.stringify(machineSettings));
    // Where the extension hosts write their coverage.
    const coverage = vsix === undefined ? undefined : process.env.COUNTERSIGN_EDITOR_COVERAGE;
    const folders = ['--user-data-dir', user, '--extensions-dir', join(home, 'editor-extensions')];
    const env = {
      PATH: process.env.PATH,
      HOME: home,
      TMPDIR: temporary,
      LANG: 'C.UTF-8',
      SHELL: '/bin/bash',
      ...(coverage !== undefined && { NODE_V8_COVERAGE: coverage }),
    };
    const { node, entry } = vsCodeProgram;
    if (vsix !== undefined)
      execFileSync(node, [entry, ...folders, '--install-extension', vsix], { env, stdio: 'pipe' });
    const child = spawn(
      node,
      [
        entry,
        ...['--auth', 'none', '--bind-addr', `127.0.0.1:${port}`],
        ...['--disable-telemetry', '--disable-update-check', '--disable-getting-started-override'],
        ...(asksForTrust ? [] : ['--disable-workspace-trust']),
        ...['--reconnection-grace-time', '2'],
        ...folders,
      ],
      { env, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    const editor = new VsCode(`http://127.0.0.1:${port}`, child, coverage && home);
    await until(() => editor.said.includes('HTTP server listening'), {
      otherwise: () => `VS Code did not start: ${editor.said}`,
    });
    return editor;
  }

  /** Close its windows first. */
  async close(): Promise<void> {
    // An extension host ends soon after its window, and only then writes its coverage.
    const home = this.#measuredHome;
    if (home)
      await until(() => !hasExtensionHost(home), { otherwise: () => 'An extension host does not end' });
    this.#child.kill('SIGTERM');
    const killer = setTimeout(() => this.#child.kill('SIGKILL'), 5_000);
    await this.#ended;
    clearTimeout(killer);
  }
}

function hasExtensionHost(home: string): boolean {
  const read = (path: string): string => {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      return ''; // the process has ended meanwhile
    }
  };
  return readdirSync('/proc').some(
    (pid) =>
      read(`/proc/${pid}/cmdline`).includes('--type=extensionHost') &&
      read(`/proc/${pid}/environ`).split('\0').includes(`HOME=${home}`),
  );
}

/** Settings that disable prompts, suggestions and network access. */
const quiet = {
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
  'workbench.enableExperiments': false,
  'workbench.welcomePage.walkthroughs.openOnInstall': false,
  'extensions.ignoreRecommendations': true,
  'extensions.autoUpdate': false,
  'chat.commandCenter.enabled': false,
  'workbench.secondarySideBar.defaultVisibility': 'hidden', // the editor's own agent
  'git.openRepositoryInParentFolders': 'never',
  'telemetry.telemetryLevel': 'off',
  'remote.autoForwardPorts': false,
  'files.autoSave': 'off', // the default on the desktop
  'window.confirmBeforeClose': 'never',
  'typescript.disableAutomaticTypeAcquisition': true,
};
