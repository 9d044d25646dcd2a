import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PackageSource } from '@countersign/policy';
import { readNetworkHost } from '@countersign/protocol';
import { runToEnd } from '../commands/run-to-end.ts';
import type { Confinement } from '../isolation/isolated-process.ts';
import type { IsolatingStarter } from '../isolation/process-starter.ts';
import { tryOr } from '../try-or.ts';

/** How we learn the hosts of a source. The repository names none: they belong to the tool and to the person's settings. */
interface SourceKnowledge {
  /** A command that prints URLs and host names. It runs in isolation, without workspace, home and network. */
  readonly ask?: readonly [program: string, ...args: string[]];
  /** The person's own settings, relative to the home. */
  readonly files: readonly string[];
  /** Which parts of those files count. */
  readonly parts: RegExp;
}

const anyLine = /^[^#;\n].*$/gm;
const sources: Readonly<Record<PackageSource, SourceKnowledge>> = {
  npm: {
    ask: ['npm', 'config', 'get', 'registry'],
    files: ['.npmrc'],
    parts: /^(@[^:=\s]+:)?registry\s*=.*$/gm,
  },
  pip: {
    ask: [
      'python3',
      '-c',
      'from pip._internal.models.index import PyPI; print(PyPI.url); print(PyPI.file_storage_domain)',
    ],
    files: ['.config/pip/pip.conf', '.pip/pip.conf', '.config/uv/uv.toml'],
    parts: anyLine,
  },
  cargo: { files: ['.cargo/config.toml', '.cargo/config'], parts: anyLine },
  go: {
    ask: ['go', 'env', 'GOPROXY', 'GOSUMDB'],
    files: ['.config/go/env'],
    parts: /^GO(PROXY|SUMDB)=.*$/gm,
  },
  gem: { ask: ['gem', 'sources', '--list'], files: ['.gemrc', '.bundle/config'], parts: anyLine },
  maven: { files: ['.m2/settings.xml'], parts: /<url>[^<]*/g },
};

/** A program that prints its own settings reads nothing of ours, and must not ask anybody. */
const onlyItself: Confinement = { workspace: 'none', network: false, maskSensitive: true };
const LONGEST_ANSWER_SECONDS = 10;
/** A changed setting counts after this time at the latest. */
const REMEMBERED_MS = 10 * 60_000;

export interface PackageSourcesOptions {
  readonly home: string;
  readonly starter: IsolatingStarter;
  /** The person's own list, `registries` in runner.json. */
  readonly listed?: () => Readonly<Partial<Record<PackageSource, readonly string[]>>>;
}

/** The hosts of package sources, from the tools' defaults and the person's own settings, never from the workspace's. */
export class PackageSources {
  readonly #options: PackageSourcesOptions;
  readonly #asked = new Map<PackageSource, { readonly at: number; readonly text: Promise<string> }>();

  constructor(options: PackageSourcesOptions) {
    this.#options = options;
  }

  /** Empty if neither the tool nor the person says. */
  async hostsOf(source: PackageSource): Promise<readonly string[]> {
    const { home, listed } = this.#options;
    const { files, parts } = sources[source];
    const settings = files.flatMap(
      (file) => tryOr(() => readFileSync(join(home, file), 'utf8'), '').match(parts) ?? [],
    );
    const own = (listed?.()[source] ?? []).flatMap((text) => readNetworkHost(text) ?? []);
    return [...new Set([...hostsIn(await this.#ask(source)), ...hostsIn(settings.join('\n')), ...own])];
  }

  async #ask(source: PackageSource): Promise<string> {
    const asked = this.#asked.get(source);
    if (asked && performance.now() - asked.at < REMEMBERED_MS) return asked.text;
    const text = this.#run(sources[source].ask);
    this.#asked.set(source, { at: performance.now(), text });
    return text;
  }

  async #run(ask: SourceKnowledge['ask']): Promise<string> {
    if (ask === undefined) return '';
    const [program, ...args] = ask;
    try {
      const { stdout } = await runToEnd(
        this.#options.starter,
        { program, args, cwd: '', confinement: onlyItself, stdin: 'ignore' },
        {
          timeoutSeconds: LONGEST_ANSWER_SECONDS,
          outputBytes: 64 * 1024,
          signal: new AbortController().signal,
          onProgress: () => {},
        },
      );
      return stdout;
    } catch {
      return ''; // not installed
    }
  }
}

/**
 * The hosts of the URLs in a text, and words that are alone on a line and can only be hosts, as in GOSUMDB and pip's
 * files.
 */
function hostsIn(text: string): readonly string[] {
  const urls = [...text.matchAll(/\bhttps?:\/\/(?:[^\s/@]*@)?([^\s/?#'"<>,|]+)/gi)].map(
    ([, host = '']) => host,
  );
  const names = text.split('\n').filter((line) => /^[\w-]+(\.[\w-]+)+$/.test(line.trim()));
  return [...urls, ...names.map((name) => name.trim())].flatMap((host) => readNetworkHost(host) ?? []);
}
