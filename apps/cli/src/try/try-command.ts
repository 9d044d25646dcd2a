import { constants } from 'node:os';
import { StringDecoder } from 'node:string_decoder';
import {
  type Effect,
  landTried,
  personsFolders,
  Trial,
  type TrialEffects,
  type TrialEnding,
  type TrialLimits,
  type TrialRun,
  workspaceAt,
} from '@countersign/tool-runner';
import { type CommandContext, usageOf } from '../command-context.ts';
import { helpText, readOptions } from '../command-options.ts';
import { visible } from '../screen/paragraph.ts';
import { workspaceRoot } from '../sign-in/workspace-project.ts';
import { paints, type Terminal } from '../terminal.ts';
import type { Words } from '../words.ts';
import { ShownOutput } from './command-output.ts';
import { countsOf, effectLines } from './effect-lines.ts';
import { Person } from './person.ts';

const usage = usageOf('try');
const MIB = 1024 ** 2;
/** Landing fewer changes takes no noticeable time. */
const MANY = 1_000;

interface Session {
  readonly terminal: Terminal;
  readonly json: boolean;
  readonly words: Words;
  readonly person: Person;
}

/** `countersign try -- COMMAND`: runs it in a layer, shows its effects, and lands them if the person says so (RN-13). */
export async function tryCommand(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values, positionals } = readOptions('try', argv);
  const { terminal, env } = context;
  const words = context.words(values.lang);
  if (values.help) return terminal.write(helpText('try', words)).then(() => 0);
  const [first, ...rest] = positionals;
  if (first === undefined || first === '') throw usage(words.try.noCommand);
  const limits = limitsOf(values, words);
  const folders = personsFolders(env);
  const place = {
    workspace: workspaceAt(workspaceRoot(undefined), { folders }),
    configFolder: folders.config,
    program: 'countersign try',
  };
  const trial = new Trial(place);
  const isAsked = terminal.interactive && !values.json && !values.land;
  const person = new Person(terminal, terminal.interactive && !values.json);
  const session: Session = { terminal, json: values.json, words, person };
  try {
    if (terminal.interactive) terminal.writeError(`${dim(terminal)(words.try.begins(limits.seconds))}\n`);
    const run = await runCommand(trial, [first, ...rest], limits, session);
    const effects = run.ending.kind === 'ended' ? await trial.effects() : noEffects;
    const told = values.json ? described(trial, run, effects) : undefined;
    const tell = async (outcome: Outcome): Promise<void> => {
      if (told) await terminal.write(`${told(outcome)}\n`);
    };
    if (!values.json) await showRun(run, effects, trial, session);
    if (run.ending.kind !== 'ended') {
      terminal.writeError(`${notEnded(run.ending, await trial.countChanges(), limits, words.try)}\n`);
      await tell(nothingLanded);
      return statusOf(run.ending);
    }
    const { effects: landing, withheld, conflicts } = effects;
    const hasEffects = landing.length + withheld.length + conflicts.length > 0;
    const isYes =
      values.land || (isAsked && landing.length > 0 && (await asks(place.workspace.root, session)));
    if (!isYes || !hasEffects) {
      await tell(nothingLanded);
      if (person.stopped.aborted) return 130;
      if (hasEffects && !values.json)
        terminal.writeError(`${isAsked ? words.try.dropped : words.try.notAsked}\n`);
      return statusOf(run.ending);
    }
    const outcome = await land(trial, run.ending.exitCode, effects, { place, command: positionals, session });
    await tell(outcome);
    return outcome.isWhole ? statusOf(run.ending) : run.ending.exitCode || 1;
  } finally {
    person.leave();
    await trial.dispose();
  }
}

function limitsOf(
  values: Readonly<Record<'timeout' | 'max-mib' | 'max-files', string>>,
  words: Words,
): TrialLimits {
  const read = (option: keyof typeof values): number => {
    const value = Number(values[option]);
    if (!Number.isSafeInteger(value) || value < 1 || value > 1_000_000_000)
      throw usage(words.try.badLimit(option, values[option]));
    return value;
  };
  return {
    seconds: Math.min(read('timeout'), 86_400),
    bytes: read('max-mib') * MIB,
    files: read('max-files'),
  };
}

/** Runs it and passes its output on: to a terminal as text, to a program as it is. */
async function runCommand(
  trial: Trial,
  command: readonly [string, ...string[]],
  limits: TrialLimits,
  { terminal, json, person }: Session,
): Promise<TrialRun> {
  const outputOf = () => (terminal.interactive ? new ShownOutput(terminal.color) : new PlainOutput());
  const shown = { stdout: outputOf(), stderr: outputOf() };
  const print = async (stream: 'stdout' | 'stderr', text: string): Promise<void> => {
    if (text === '') return;
    // With --json, standard output is for one line of ours.
    if (json || (stream === 'stderr' && !terminal.interactive)) terminal.writeError(text);
    else await terminal.write(text);
  };
  const run = await trial.run(command, limits, {
    signal: person.stopped,
    onOutput: (stream, chunk) => print(stream, shown[stream].push(chunk)),
  });
  for (const stream of ['stdout', 'stderr'] as const) await print(stream, shown[stream].end());
  return run;
}

class PlainOutput {
  readonly #decoder = new StringDecoder('utf8');
  push = (chunk: Buffer): string => this.#decoder.write(chunk);
  end = (): string => this.#decoder.end();
}

const noEffects: TrialEffects = { effects: [], withheld: [], conflicts: [], leftOut: [] };

/** Says how it ended and what it would do: on a terminal among its output, otherwise apart from it. */
async function showRun(
  { ending, durationMs, hosts, notes }: TrialRun,
  effects: TrialEffects,
  trial: Trial,
  { terminal, words }: Session,
): Promise<void> {
  const { color, screen } = terminal;
  const paint = paints(color);
  const seconds = (durationMs / 1_000).toFixed(1);
  const lines = [
    ...notes.map((note) => paint.yellow(visible(words.said(note)))),
    ...(hosts.length > 0 ? [paint.yellow(`${words.try.hosts}: ${visible(hosts.join(', '))}`)] : []),
  ];
  if (ending.kind === 'ended') {
    const glance = `${words.try.counts(...countsOf(effects.effects))} · ${words.try.ended(ending.exitCode, seconds)}`;
    const look = { diffs: trial.diffs(), words: words.try, columns: screen?.columns ?? 110, color };
    lines.push(paint.bold(glance), ...effectLines(effects, look));
    // The numbers again where the person is looking when they are asked.
    if (lines.length > (screen?.rows ?? Number.POSITIVE_INFINITY)) lines.push(paint.bold(glance));
  }
  const text = lines.map((line) => `${line}\n`).join('');
  if (terminal.interactive) await terminal.write(text);
  else terminal.writeError(text);
}

function asks(folder: string, { person, words }: Session): Promise<boolean> {
  return person.saysYes(words.try.question(visible(folder)), words.try);
}

interface Outcome {
  readonly landed: boolean;
  /** Paths that were changed while the person was looking at the effects. */
  readonly late: ReadonlySet<string>;
}
const nothingLanded: Outcome = { landed: false, late: new Set() };

async function land(
  trial: Trial,
  exitCode: number,
  { effects, withheld, conflicts }: TrialEffects,
  {
    place,
    command,
    session: { terminal, words },
  }: {
    readonly place: Parameters<typeof landTried>[0];
    readonly command: readonly string[];
    readonly session: Session;
  },
): Promise<Outcome & { readonly isWhole: boolean }> {
  const say = (text: string): void => terminal.writeError(`${text}\n`);
  if (effects.length > MANY) say(words.try.landing(effects.length));
  const { id: layerId, upper } = trial.layer;
  const landing = { command: command.join(' '), exitCode, layerId, upper, effects };
  const outcome =
    effects.length > 0
      ? await landTried(place, landing)
      : { landed: 0, conflicts: [], notes: [], error: undefined, keptIn: undefined };
  const kept = [trial.setAside([...withheld, ...conflicts]), outcome.keptIn].filter((at) => at !== undefined);
  if (outcome.error) say(words.try.notLanded(visible(words.said(outcome.error))));
  else if (outcome.landed > 0) say(words.try.landed(outcome.landed));
  if (outcome.conflicts.length > 0)
    say(
      [words.try.conflicts, ...outcome.conflicts.slice(0, 20).map((path) => `  ${visible(path)}`)].join('\n'),
    );
  for (const note of outcome.notes) say(visible(words.said(note)));
  for (const folder of new Set(kept)) say(words.try.kept(visible(folder)));
  return {
    landed: outcome.landed > 0,
    late: new Set(outcome.conflicts),
    isWhole: withheld.length + conflicts.length + outcome.conflicts.length === 0 && !outcome.error,
  };
}

/** What programs get, on one line (docs/terminal.md). Read it before landing, which moves files out of the layer. */
function described(
  trial: Trial,
  { ending, durationMs }: TrialRun,
  { effects, withheld, conflicts }: TrialEffects,
): (outcome: Outcome) => string {
  const named = ({ path, change }: Effect) => ({ path: path.toWellFormed(), change });
  const diffs = ending.kind === 'ended' ? trial.diffs() : undefined;
  const withDiffs = effects.map((effect) => {
    const entry = effect.after ?? effect.before;
    const diff = diffs?.of(effect);
    const size = entry?.type === 'file' && { size: entry.size };
    return { ...named(effect), ...size, ...(diff !== undefined && { diff }) };
  });
  return ({ landed, late }) =>
    JSON.stringify({
      exit_code: ending.kind === 'ended' ? ending.exitCode : null,
      duration_ms: durationMs,
      effects: withDiffs.filter((_, i) => !late.has(effects[i]?.path ?? '')),
      withheld: withheld.map(named),
      conflicts: [...conflicts, ...effects.filter(({ path }) => late.has(path))].map(named),
      landed,
    });
}

function notEnded(
  ending: Exclude<TrialEnding, { kind: 'ended' }>,
  dropped: number,
  limits: TrialLimits,
  words: Words['try'],
): string {
  if (ending.kind === 'cancelled') return words.cancelled(dropped);
  if (ending.kind === 'killed') return words.killed(ending.signal, dropped);
  const { limit } = ending;
  return words.limited(words.limits[limit](limit === 'bytes' ? limits.bytes / MIB : limits[limit]), dropped);
}

/** As a shell and timeout(1) say it. */
function statusOf(ending: TrialEnding): number {
  switch (ending.kind) {
    case 'ended':
      return ending.exitCode;
    case 'killed':
      return 128 + (constants.signals[ending.signal as keyof typeof constants.signals] ?? 0);
    case 'limit':
      return 124;
    case 'cancelled':
      return 130;
  }
}

const dim = ({ color }: Terminal) => paints(color).dim;
