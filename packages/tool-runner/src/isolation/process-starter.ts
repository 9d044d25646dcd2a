import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CountersignError } from '@countersign/protocol';
import type { FileChange } from '../files/file-snapshot.ts';
import type { Workspace } from '../workspace.ts';
import {
  bubblewrapArguments,
  closeDescriptorsFirst,
  inheritedDescriptors,
  isPartOfSystem,
  limitArguments,
  ownLimits,
  type PreparedFiles,
  prepareFiles,
  privateHome,
  privateTemporary,
  seccompDescriptor,
  statusDescriptor,
  systemArguments,
} from './bubblewrap.ts';
import { commandEnvironment, readPersonName } from './command-environment.ts';
import { ExecutingPlaceGuard, type Planted, type Protection } from './executing-place-guard.ts';
import { findOwnNode, findProgram, fixedPath, isInside, type OwnNode } from './fixed-path.ts';
import type { Confinement, ProcessRequest, ProcessStarter } from './isolated-process.ts';
import { type IsolationTools, type Probe, probeIsolation } from './isolation-probe.ts';
import { bridgeEnvironment, bridgePlace, NetworkGate } from './network-gate.ts';
import { type SeccompOptions, seccompFilter } from './seccomp-filter.ts';
import { identifyProcess, StartedProcess } from './started-process.ts';
import { listeningSockets, type ScanBounds, type SpecialPlaces, WorkspaceScan } from './workspace-scan.ts';

export interface ProcessStarterOptions {
  /** Set by the operator: start programs without isolation if isolation does not work here. */
  readonly allowUnisolated?: boolean;
  /** Time between SIGTERM and SIGKILL (EX-8). */
  readonly killDelayMs?: number;
  /** The environment from which commands get allow-listed variables (VA-7). Defaults to the runner's environment. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Path of bubblewrap, if it is not in a system folder. */
  readonly bubblewrap?: string;
  readonly scanBounds?: ScanBounds;
  /** Ports of this machine that commands with network may reach; none by default (AP-9). */
  readonly reachablePorts?: readonly number[];
  /** `host:port` of our server if it is on another machine. Commands with network must not reach it (AP-9). */
  readonly refusedHosts?: readonly string[];
}

/** Created once, when the first program starts. */
interface Prepared {
  readonly tools: IsolationTools;
  readonly files: PreparedFiles;
  readonly seccomp: { readonly withSockets: string; readonly withoutSockets: string } | undefined;
  readonly inherited: readonly number[];
  readonly guard: ExecutingPlaceGuard;
  readonly system: readonly string[];
  readonly systemWithNetwork: readonly string[];
  readonly limitsOfRunner: ReadonlyMap<string, number>;
}

/** How to start one program, with isolation or without. */
interface Launch {
  readonly line: readonly string[];
  readonly cwd: string;
  readonly stdio: readonly ('ignore' | 'pipe' | number)[];
  readonly home: string;
  /** Variables that the person added override these. */
  readonly environment: Readonly<Record<string, string>>;
  readonly protection: Protection;
  readonly isIsolated: boolean;
}

/** Starts programs in isolation (RN-5), follows each until all its processes have ended, and reports what it planted. */
export class IsolatingStarter implements ProcessStarter {
  readonly #workspace: Workspace;
  readonly #options: ProcessStarterOptions;
  readonly #node: OwnNode | undefined;
  readonly #path: readonly string[];
  readonly #scan: WorkspaceScan;
  readonly #started = new Map<ChildProcess, StartedProcess>();
  readonly #ended = new WeakMap<ChildProcess, StartedProcess>();
  #places: SpecialPlaces | undefined;
  #probe: Probe | undefined;
  #prepared: Prepared | undefined;
  #gate: NetworkGate | undefined;

  constructor(workspace: Workspace, options: ProcessStarterOptions = {}) {
    this.#workspace = workspace;
    this.#options = options;
    this.#node = findOwnNode(workspace.root, workspace.home);
    this.#path = fixedPath(this.#node);
    this.#scan = new WorkspaceScan(workspace, options.scanBounds);
  }

  /** Whether isolation works here. If not, LOW commands need approval unless the operator decided otherwise (RN-5). */
  get isIsolated(): boolean {
    return 'tools' in this.#probeOnce();
  }

  /** False if too many files have hard links outside the workspace to hide them all from a LOW command (VA-1). */
  get canHideLinks(): boolean {
    const { linkedOutside } = this.#places ?? this.#scanPlaces();
    return linkedOutside.length <= maxHiddenLinks;
  }

  /** PATH of the programs that are started. */
  get path(): string {
    return this.#path.join(':');
  }

  start(request: ProcessRequest): ChildProcess {
    const probe = this.#probeOnce();
    if ('problem' in probe && !this.#options.allowUnisolated)
      throw new CountersignError('ISOLATION_UNAVAILABLE', { problem: probe.problem });
    const program = findProgram(request.program, this.#path, this.#workspace.root);
    const cwd = this.#findFolder(request);
    return 'problem' in probe
      ? this.#startUnisolated(request, program, cwd)
      : this.#startIsolated(request, program, cwd, this.#prepare(probe.tools));
  }

  async stop(child: ChildProcess): Promise<void> {
    const started = this.#started.get(child);
    await started?.stop(this.#options.killDelayMs ?? 10_000);
  }

  /** Returns the files that a process left in places that execute later (VA-3). Call it after `stop` has resolved. */
  planted(child: ChildProcess): Planted {
    return this.#ended.get(child)?.planted ?? { setAside: [] };
  }

  /**
   * Announces files that our own tools are about to write. If such a file executes later, it does not count as planted by
   * a command that runs at the same time, as long as it has the approved content.
   */
  expectChanges(changes: readonly Pick<FileChange, 'path' | 'after'>[]): void {
    this.#prepared?.guard.expectChanges(changes);
  }

  /** Returns the sensitive files that an approved program could read (VA-2), workspace-relative. */
  readableSecrets(): readonly string[] {
    return this.#scanPlaces().sensitive.map(({ path }) => path);
  }

  /** False if isolation could not be set up for this process. Its standard error has the reason. */
  hasRun(child: ChildProcess): boolean {
    return (this.#started.get(child) ?? this.#ended.get(child))?.hasRun ?? false;
  }

  /** Stops every program that still runs. */
  async dispose(): Promise<void> {
    await Promise.all([...this.#started.keys()].map((child) => this.stop(child)));
    const gate = this.#gate;
    this.#gate = undefined;
    await gate?.close();
  }

  #startIsolated(request: ProcessRequest, program: string, cwd: string, prepared: Prepared): ChildProcess {
    const { tools, seccomp, inherited, guard, limitsOfRunner } = prepared;
    const { confinement } = request;
    const places =
      confinement.workspace === 'none' ? noPlaces : this.#placesFor(mayUseUnixSockets(confinement));
    const protection =
      confinement.workspace === 'write' && places.missed === undefined
        ? guard.protect(places, confinement)
        : unprotected;
    try {
      const isolation = bubblewrapArguments({
        root: this.#workspace.root,
        confinement,
        files: prepared.files,
        system: confinement.network ? prepared.systemWithNetwork : prepared.system,
        node: this.#node,
        hasSeccomp: seccomp !== undefined,
        gate: confinement.network ? this.#openGate().path : undefined,
        places,
        protection,
        cwd,
      });
      const limits = [tools.prlimit, ...limitArguments(confinement.limits, limitsOfRunner), '--'];
      const ports = (this.#options.reachablePorts ?? []).join(',');
      const bridge = confinement.network ? [this.#findNode(), bridgePlace, ports] : [];
      const line = [tools.bubblewrap, ...isolation, ...limits, ...bridge, program, ...request.args];
      const filter =
        seccomp &&
        openSync(mayUseUnixSockets(confinement) ? seccomp.withSockets : seccomp.withoutSockets, 'r');
      try {
        const last = filter === undefined ? statusDescriptor : seccompDescriptor;
        const left = inherited.filter((descriptor) => descriptor > last);
        return this.#spawn(request, {
          line: closeDescriptorsFirst(left, line),
          cwd: '/',
          stdio: [request.stdin, 'pipe', 'pipe', 'pipe', ...(filter === undefined ? [] : [filter])],
          home: privateHome,
          environment: confinement.network ? bridgeEnvironment : {},
          protection,
          isIsolated: true,
        });
      } finally {
        if (filter !== undefined) closeSync(filter);
      }
    } catch (error) {
      protection.release();
      throw error;
    }
  }

  #startUnisolated(request: ProcessRequest, program: string, cwd: string): ChildProcess {
    return this.#spawn(request, {
      line: [program, ...request.args],
      cwd: join(this.#workspace.root, cwd),
      stdio: [request.stdin, 'pipe', 'pipe'],
      home: this.#workspace.home,
      environment: {},
      protection: unprotected,
      isIsolated: false,
    });
  }

  #spawn(request: ProcessRequest, launch: Launch): ChildProcess {
    const [command = '', ...args] = launch.line;
    const environment = {
      ...launch.environment,
      ...commandEnvironment(
        this.#options.environment ?? process.env,
        { path: this.path, home: launch.home, temporary: privateTemporary },
        this.#workspace.addedEnvironment,
      ),
      ...request.environment,
    };
    let child: ChildProcess;
    try {
      child = spawn(command, args, {
        cwd: launch.cwd,
        env: environment,
        stdio: [...launch.stdio],
        detached: true,
      });
    } catch (cause) {
      throw new CountersignError(
        'SPAWN_FAILED',
        { program: request.program, problem: (cause as Error).message },
        { cause },
      );
    }
    const started = new StartedProcess(child, launch);
    this.#started.set(child, started);
    void started.ended.then(() => {
      this.#started.delete(child);
      this.#ended.set(child, started);
    });
    return child;
  }

  /** Returns the working directory, workspace-relative with links resolved. Refuses a link that leads outside. */
  #findFolder({ cwd, confinement }: ProcessRequest): string {
    if (confinement.workspace === 'none') return '';
    const { root } = this.#workspace;
    let real: string;
    try {
      real = realpathSync(join(root, cwd));
    } catch (cause) {
      throw new CountersignError('FILE_NOT_FOUND', { path: cwd }, { cause });
    }
    if (!isInside(root, real)) throw new CountersignError('PATH_OUTSIDE_WORKSPACE', { path: cwd });
    if (!statSync(real).isDirectory()) throw new CountersignError('NOT_A_DIRECTORY', { path: cwd });
    return real.slice(root.length + 1);
  }

  #placesFor(mayConnect: boolean): SpecialPlaces {
    const places = this.#scanPlaces();
    if (!mayConnect) return places;
    return {
      ...places,
      specialFiles: [...new Set([...places.specialFiles, ...listeningSockets(this.#workspace.root)])],
    };
  }

  #scanPlaces(): SpecialPlaces {
    this.#places = this.#scan.findPlaces();
    return this.#places;
  }

  #openGate(): NetworkGate {
    this.#gate ??= new NetworkGate(join(this.#workspace.stateFolder, 'isolation'), this.#options);
    return this.#gate;
  }

  /** Finds a Node that is visible in isolation, to run the bridge to the network gate. */
  #findNode(): string {
    try {
      return findProgram('node', this.#path, this.#workspace.root);
    } catch (cause) {
      const problem = 'a command with network needs Node in a system folder';
      throw new CountersignError('ISOLATION_UNAVAILABLE', { problem }, { cause });
    }
  }

  #probeOnce(): Probe {
    const { root } = this.#workspace;
    this.#probe ??= isPartOfSystem(root)
      ? { problem: `the workspace "${root}" is a part of the system` }
      : probeIsolation(this.#options.bubblewrap);
    return this.#probe;
  }

  #prepare(tools: IsolationTools): Prepared {
    if (this.#prepared) return this.#prepared;
    const { root, stateFolder, home } = this.#workspace;
    const folder = join(stateFolder, 'isolation');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const writeFilter = (name: string, options: SeccompOptions): string | undefined => {
      const filter = seccompFilter(options);
      if (filter) writeFileSync(join(folder, name), filter);
      return filter && join(folder, name);
    };
    const withSockets = writeFilter('seccomp', { unixSockets: true });
    const withoutSockets = writeFilter('seccomp-low', { unixSockets: false });
    const files = prepareFiles(folder, readPersonName(home));
    this.#prepared = {
      tools,
      files,
      system: systemArguments(files, { network: false }),
      systemWithNetwork: systemArguments(files, { network: true }),
      limitsOfRunner: ownLimits(),
      seccomp: withSockets && withoutSockets ? { withSockets, withoutSockets } : undefined,
      inherited: inheritedDescriptors(),
      guard: new ExecutingPlaceGuard({ root, stateFolder, findPlaces: () => this.#scan.findPlaces() }),
    };
    this.#prepared.guard.settleAbandoned((pid) => identifyProcess(pid) === undefined);
    return this.#prepared;
  }
}

/** Read-only programs get no Unix sockets, because a socket to another process may appear in the workspace at any time. */
const mayUseUnixSockets = ({ workspace, network }: Confinement): boolean => workspace === 'write' || network;

/** Limited because each hidden link is a mount. A copied tree may consist of hard links only. */
const maxHiddenLinks = 500;
const noPlaces: SpecialPlaces = { sensitive: [], executing: [], specialFiles: [], linkedOutside: [] };
const unprotected: Protection = { readOnly: [], pinned: [], release: () => ({ setAside: [] }) };
