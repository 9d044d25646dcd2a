import { CountersignError } from '@countersign/protocol';
import { systemClock } from '../clock.ts';
import { IsolatingStarter } from '../isolation/process-starter.ts';
import { visibleName } from '../preview/look.ts';
import type { Workspace } from '../workspace.ts';
import { Allowances } from './allowances.ts';
import { describeReach, type ServerEntry, type ServerOwner, shownMaskerOf } from './server-entry.ts';
import { namedFiles, readServers } from './server-files.ts';
import type { ServerStatus } from './tool-server.ts';
import { ToolServers } from './tool-servers.ts';

/** A server as the person sees it before they allow it. Hidden characters are made visible. */
export interface ServerQuestion {
  readonly name: string;
  readonly owner: ServerOwner;
  readonly runs: string;
  readonly cwd: string;
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** Names of headers; their values are secrets. */
  readonly headers: readonly string[];
  readonly network: boolean;
  /** False: programs are not isolated on this machine, and the server can do all that the person can. */
  readonly isIsolated: boolean;
  readonly workspace: 'write' | 'read' | 'none';
  /** Scripts of the workspace that it runs. */
  readonly files: readonly string[];
  readonly isAllowed: boolean;
  /** True if an earlier version was allowed. */
  readonly wasAllowed: boolean;
  /** Digest of exactly what is shown. */
  readonly digest: string;
}

/** Lists, allows and forbids the tool servers of a workspace, for `countersign tools`. */
export class ToolServerList {
  readonly #workspace: Workspace;
  readonly #configFolder: string;
  readonly #allowances: Allowances;

  constructor(workspace: Workspace, configFolder: string) {
    this.#workspace = workspace;
    this.#configFolder = configFolder;
    this.#allowances = new Allowances(configFolder, workspace.root);
  }

  /** Starts each server that may start, asks it for its tools, and ends it again. */
  async list(): Promise<readonly ServerStatus[]> {
    const starter = new IsolatingStarter(this.#workspace, { allowUnisolated: true, killDelayMs: 1_000 });
    const servers = new ToolServers({
      workspace: this.#workspace,
      configFolder: this.#configFolder,
      starter,
      clock: systemClock,
      logger: { debug() {}, info() {}, error() {} },
    });
    try {
      await servers.start();
      return servers.status;
    } finally {
      await servers.dispose();
      await starter.dispose();
    }
  }

  /** Throws NOT_FOUND if no server has that name. */
  question(name: string): ServerQuestion {
    const entry = this.#entry(name);
    const { owner, reach, network, workspace } = entry;
    const isStdio = reach.kind === 'stdio';
    const mask = shownMaskerOf(entry);
    return {
      name,
      owner,
      runs: describeReach(entry),
      cwd: isStdio ? visibleName(reach.cwd || '.') : '',
      env: isStdio
        ? Object.entries(reach.env).map(([variable, value]) => ({
            name: variable,
            value: visibleName(mask(value)),
          }))
        : [],
      headers: isStdio ? [] : Object.keys(reach.headers),
      network,
      isIsolated: isStdio && new IsolatingStarter(this.#workspace).isIsolated,
      workspace: isStdio ? workspace : 'none',
      files: namedFiles(entry, this.#workspace.root).map(({ path }) => visibleName(path)),
      isAllowed: this.#allowances.allowedDigest(entry) !== undefined,
      wasAllowed: this.#allowances.wasAllowed(entry),
      digest: this.#allowances.digestOf(entry),
    };
  }

  /** `digest` is that of the question that the person saw. Throws if the server has changed since. */
  allow(name: string, digest: string): void {
    this.#allowances.allow(this.#entry(name), digest, new Date());
  }

  /** Takes an allowance back. Returns whether there was one. */
  forbid(name: string): boolean {
    return this.#allowances.forbid(name);
  }

  #entry(name: string): ServerEntry {
    const { entries } = readServers(this.#configFolder, this.#workspace.root);
    const found = entries.find((entry) => entry.name === name);
    if (!found) throw new CountersignError('NOT_FOUND', { what: 'tool server' });
    return found;
  }
}
