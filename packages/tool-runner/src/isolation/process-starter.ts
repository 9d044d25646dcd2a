import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { CountersignError } from '@countersign/protocol';
import type { FileChange } from '../files/file-snapshot.ts';
import { type Layer, Layers } from '../layers/layers.ts';
import type { Workspace } from '../workspace.ts';
import {
  bubblewrapArguments,
  closeDescriptorsFirst,
  isPartOfSystem,
  seccompDescriptor,
  statusDescriptor,
} from './bubblewrap.ts';
import { commandEnvironment } from './command-environment.ts';
import { type CommandLimits, defaultCommandLimits, limitArguments } from './command-limits.ts';
import { type ConversationPlace, guardedNames } from './conversation-place.ts';
import { ConversationPlaces } from './conversation-places.ts';
import type { Planted, Protection } from './executing-place-guard.ts';
import { findProgram, isInside } from './fixed-path.ts';
import type { GatePass } from './gate-pass.ts';
import type { Confinement, ProcessRequest, ProcessStarter } from './isolated-process.ts';
import { type IsolationTools, type Probe, probeIsolation } from './isolation-probe.ts';
import { bridgePlace, NetworkGate, proxyEnvironment } from './network-gate.ts';
import { listenInPlace } from './place-listener.ts';
import { type Prepared, prepareIsolation } from './prepared-isolation.ts';
import { ProgramView, type ShownFolders } from './program-view.ts';
import { noProgramFolders, type ProgramFolders } from './shown-folders.ts';
import { StartedProcess } from './started-process.ts';
import { privateHome, privateTemporary } from './system-view.ts';
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
  /** Returns the path of a system program that mounts layers. */
  readonly findLayerTool?: (name: string) => string | undefined;
  /** Ports of this machine that commands with network may reach; none by default (AP-9). */
  readonly reachablePorts?: readonly number[];
  /** `host:port` of our server if it is on another machine. Commands with network must not reach it (AP-9). */
  readonly refusedHosts?: readonly string[];
  /** Countersign's configuration folder, which commands never see. */
  readonly configFolder?: string;
  /** Reads what the person lets commands use. Called for each start. */
  readonly settings?: () => CommandSettings;
}

/** The settings of `runner.json` for commands. */
export interface CommandSettings extends ProgramFolders {
  readonly commands: CommandLimits;
  /** By name. `layer`: false for a program that must write in the workspace itself. */
  readonly programs: Readonly<Record<string, { readonly layer: boolean }>>;
}

const defaultSettings: CommandSettings = {
  ...noProgramFolders,
  commands: defaultCommandLimits,
  programs: {},
};

/** A program to start, checked. */
interface Wanted {
  readonly request: ProcessRequest;
  readonly program: string;
  /** Workspace-relative, links resolved. */
  readonly cwd: string;
  readonly shown: ShownFolders;
}

/** How to start one program, with isolation or without. */
interface Launch {
  readonly line: readonly string[];
  readonly cwd: string;
  readonly stdio: readonly ('ignore' | 'pipe' | number)[];
  readonly home: string;
  readonly path: readonly string[];
  /** Variables that the person added override these. */
  readonly environment: Readonly<Record<string, string>>;
  readonly protection: Protection;
  readonly isIsolated: boolean;
  readonly place?: ConversationPlace | undefined;
  /** Its use of the network gate. */
  readonly pass?: GatePass | undefined;
}

/** Starts programs in isolation (RN-5), follows each until all its processes have ended, and reports what it planted. */
export class IsolatingStarter implements ProcessStarter {
  readonly #workspace: Workspace;
  readonly #options: ProcessStarterOptions;
  readonly #programs: ProgramView;
  readonly #scan: WorkspaceScan;
  /** The layers in which commands run (RN-11). */
  readonly layers: Layers;
  readonly #started = new Map<ChildProcess, StartedProcess>();
  readonly #ended = new WeakMap<ChildProcess, StartedProcess>();
  readonly #passes = new WeakMap<ChildProcess, GatePass>();
  /** Where the commands of a conversation reach the network gate. Other commands have a bridge of their own. */
  readonly #listening = new WeakMap<ConversationPlace, Promise<void>>();
  readonly #gatePorts = new WeakMap<ConversationPlace, number>();
  #places: SpecialPlaces | undefined;
  #probe: Probe | undefined;
  #prepared: Prepared | undefined;
  #gate: NetworkGate | undefined;
  #conversations: ConversationPlaces | undefined;

  constructor(workspace: Workspace, options: ProcessStarterOptions = {}) {
    this.#workspace = workspace;
    this.#options = options;
    const { root, home, stateFolder } = workspace;
    const { configFolder, environment = process.env } = options;
    this.#programs = new ProgramView(
      { root, home, stateFolder, configFolder },
      () => this.#settings(),
      environment.PATH ?? '',
    );
    this.#scan = new WorkspaceScan(workspace, options.scanBounds);
    this.layers = new Layers(workspace, options.findLayerTool);
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

  /** PATH of the programs that an approved command finds. */
  get path(): string {
    return this.#programs.look({ connects: true, isIsolated: this.isIsolated }).path.join(':');
  }

  start(request: ProcessRequest): ChildProcess {
    const probe = this.#probeOnce();
    if ('problem' in probe && !this.#options.allowUnisolated)
      throw new CountersignError('ISOLATION_UNAVAILABLE', { problem: probe.problem });
    const { confinement } = request;
    const shown = this.#programs.look({
      connects: mayUseUnixSockets(confinement),
      isIsolated: 'tools' in probe,
    });
    const program =
      'problem' in probe
        ? findProgram(request.program, shown.path, this.#workspace.root)
        : this.#programs.find(request.program, shown, confinement.readable);
    const wanted = { request, program, cwd: this.#findFolder(request), shown };
    return 'problem' in probe
      ? this.#startUnisolated(wanted)
      : this.#startIsolated(wanted, this.#prepare(probe.tools));
  }

  async stop(child: ChildProcess): Promise<void> {
    const started = this.#started.get(child);
    await started?.stop(this.#options.killDelayMs ?? 10_000);
  }

  /** Returns the files that a process left in places that execute later (VA-3). Call it after `stop` has resolved. */
  planted(child: ChildProcess): Planted {
    return this.#ended.get(child)?.planted ?? { setAside: [] };
  }

  /** Returns what a command did with its network: undefined if it had none, or has it without a gate. */
  networkUse(child: ChildProcess): Pick<GatePass, 'refused' | 'rejected' | 'heldMs' | 'secrets'> | undefined {
    return this.#passes.get(child);
  }

  /**
   * Announces files that our own tools are about to write. If such a file executes later, it does not count as planted by
   * a command that runs at the same time, as long as it has the approved content.
   */
  expectChanges(changes: readonly Pick<FileChange, 'path' | 'after'>[]): void {
    this.#prepared?.guard.expectChanges(changes);
  }

  /** Returns why a command may not have found a program: the person has it, and isolation hides it. */
  explainHidden(program: string | 'python of the workspace'): string | undefined {
    if (!this.isIsolated) return undefined;
    const explained =
      program === 'python of the workspace'
        ? this.#programs.explainHiddenPython()
        : this.#programs.explainHidden(program);
    return explained?.message;
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
    await Promise.all([gate?.close(), this.#conversations?.close(), this.layers.idle()]);
  }

  /**
   * Returns the place that the commands of a conversation share (RN-5), made at its first use. Undefined where there is none:
   * then each command has a `/tmp` and a loopback of its own. `withNetwork`: a command of it is about to use the network gate.
   */
  async placeOf(
    session: string,
    { withNetwork }: { readonly withNetwork: boolean } = { withNetwork: false },
  ): Promise<ConversationPlace | undefined> {
    const probe = this.#probeOnce();
    // Ports of this machine are opened on a command's own loopback: others of the conversation would share them.
    const opensPorts = withNetwork && (this.#options.reachablePorts ?? []).length > 0;
    if ('problem' in probe || opensPorts) return undefined;
    const { bubblewrap, nsenter } = this.#prepare(probe.tools).tools;
    if (nsenter === undefined) return undefined;
    this.#conversations ??= new ConversationPlaces({ bubblewrap, nsenter }, () => ({
      folder: join(this.#workspace.stateFolder, 'isolation', 'place'),
      temporaryBytes: this.#settings().commands.temporaryBytes,
      guarded: guardedNames(this.#mountsOf(this.#programs.look({ connects: false, isIsolated: false }))),
    }));
    const place = await this.#conversations.open(session);
    if (place && withNetwork) {
      const listening = this.#listening.get(place) ?? this.#listenIn(place);
      this.#listening.set(place, listening);
      await listening;
    }
    return place;
  }

  /** Makes a layer for a command with these programs; undefined where it must run without one. */
  openLayer(programs: readonly string[]): Layer | undefined {
    if (!this.isIsolated) return undefined;
    const settings = this.#settings().programs;
    if (programs.some((name) => settings[name]?.layer === false)) return undefined;
    // Without the list of places that execute later, nothing could land.
    return this.executingPlaces().missed === undefined ? this.layers.open() : undefined;
  }

  /** Why no command can run in a layer here; undefined if one can. */
  layerProblem(): string | undefined {
    const probe = this.#probeOnce();
    return 'problem' in probe ? probe.problem : (this.executingPlaces().missed ?? this.layers.problem);
  }

  /** The places of the workspace that execute later (VA-3), as it is now. */
  executingPlaces(): Pick<SpecialPlaces, 'executing' | 'aliases' | 'missed'> {
    return this.#scanPlaces();
  }

  async #listenIn(place: ConversationPlace): Promise<void> {
    const gate = this.#openGate();
    const port = await listenInPlace(place, (socket) => gate.accept(socket));
    if (port !== undefined) this.#gatePorts.set(place, port);
  }

  /** Returns the place if the conversation has one. */
  async findPlace(session: string): Promise<ConversationPlace | undefined> {
    return this.#conversations?.find(session);
  }

  /** Forgets the place of a conversation that has ended. */
  async endConversation(session: string): Promise<void> {
    await this.#conversations?.end(session);
  }

  #mountsOf({ node, mounts }: ShownFolders): readonly string[] {
    return [this.#workspace.root, ...(node ? [node.shown] : []), ...mounts];
  }

  #startIsolated(wanted: Wanted, prepared: Prepared): ChildProcess {
    const { request, program, cwd, shown } = wanted;
    const { tools, seccomp, inherited, guard, limitsOfRunner } = prepared;
    const { commands } = this.#settings();
    const { confinement } = request;
    const { readable = [], writable = [] } = confinement;
    const mounts = [...this.#mountsOf(shown), ...readable, ...writable];
    const place = request.place?.holds(mounts) ? request.place : undefined;
    const { layer } = request;
    // A layer has no way to the sockets and pipes below it: what it shows are others of the same name.
    const isCovered = layer !== undefined && !confinement.maskSensitive;
    const places =
      confinement.workspace === 'none' || isCovered
        ? noPlaces
        : this.#placesFor(mayUseUnixSockets(confinement));
    const protection =
      confinement.workspace === 'write' && !layer && places.missed === undefined
        ? guard.protect(places, confinement)
        : unprotected;
    const pass = confinement.network
      ? this.#openGate().admit(confinement.network, confinement.askForHost)
      : undefined;
    const gatePort = place && this.#gatePorts.get(place);
    const isBridged = pass !== undefined && gatePort === undefined;
    try {
      const isolation = bubblewrapArguments({
        root: this.#workspace.root,
        confinement,
        files: prepared.files,
        system: prepared.system,
        node: shown.node,
        shown,
        place,
        layer,
        temporaryBytes: commands.temporaryBytes,
        hasSeccomp: seccomp !== undefined,
        gate: isBridged ? this.#openGate().path : undefined,
        places,
        protection,
        cwd,
      });
      const limits = [tools.prlimit, ...limitArguments(confinement.limits, commands, limitsOfRunner), '--'];
      // Others would reach these listeners on a shared loopback.
      const ports = place ? '' : (this.#options.reachablePorts ?? []).join(',');
      const bridge = isBridged ? [this.#findNode(shown), bridgePlace, ports] : [];
      const inside = [...limits, ...bridge, program, ...request.args];
      const entering = layer?.way === 'root' ? place?.enterAsRoot : place?.enter;
      const line = [...(entering ?? []), ...(layer?.enter ?? []), tools.bubblewrap, ...isolation, ...inside];
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
          path: shown.path,
          environment: { ...shown.environment, ...(pass && proxyEnvironment(pass.key, gatePort)) },
          protection,
          isIsolated: true,
          place,
          pass,
        });
      } finally {
        if (filter !== undefined) closeSync(filter);
      }
    } catch (error) {
      protection.release();
      pass?.end();
      throw error;
    }
  }

  #startUnisolated({ request, program, cwd, shown }: Wanted): ChildProcess {
    return this.#spawn(request, {
      line: [program, ...request.args],
      cwd: join(this.#workspace.root, cwd),
      stdio: [request.stdin, 'pipe', 'pipe'],
      home: this.#workspace.home,
      path: shown.path,
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
        { path: launch.path.join(':'), home: launch.home, temporary: privateTemporary },
        this.#workspace.addedEnvironment,
      ),
      ...request.environment,
    };
    let child: ChildProcess;
    const release = launch.place?.hold();
    try {
      child = spawn(command, args, {
        cwd: launch.cwd,
        env: environment,
        stdio: [...launch.stdio],
        detached: true,
      });
    } catch (cause) {
      release?.();
      throw new CountersignError(
        'SPAWN_FAILED',
        { program: request.program, problem: (cause as Error).message },
        { cause },
      );
    }
    const started = new StartedProcess(child, launch);
    this.#started.set(child, started);
    if (launch.pass) this.#passes.set(child, launch.pass);
    void started.ended.then(() => {
      release?.();
      launch.pass?.end();
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

  #settings(): CommandSettings {
    return this.#options.settings?.() ?? defaultSettings;
  }

  #openGate(): NetworkGate {
    this.#gate ??= new NetworkGate(join(this.#workspace.stateFolder, 'isolation'), this.#options);
    return this.#gate;
  }

  /** Finds a Node that is visible in isolation, to run the bridge to the network gate. */
  #findNode(shown: ShownFolders): string {
    if (shown.node) return join(shown.node.programs, 'node');
    try {
      return this.#programs.find('node', shown);
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
    this.#prepared ??= prepareIsolation(this.#workspace, tools, this.#scan);
    return this.#prepared;
  }
}

/** Read-only programs get no Unix sockets, because a socket to another process may appear in the workspace at any time. */
const mayUseUnixSockets = ({ workspace, network }: Confinement): boolean =>
  workspace === 'write' || network !== false;

/** Limited because each hidden link is a mount. A copied tree may consist of hard links only. */
const maxHiddenLinks = 500;
const noPlaces: SpecialPlaces = {
  sensitive: [],
  executing: [],
  aliases: [],
  specialFiles: [],
  linkedOutside: [],
};
const unprotected: Protection = {
  readOnly: [],
  pinned: [],
  standIns: [],
  release: () => ({ setAside: [] }),
};
