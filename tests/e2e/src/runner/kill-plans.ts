import { existsSync, readFileSync } from 'node:fs';
import type { KillStep } from '../../../lab/src/kill-steps.ts';
import type { RunnerStory } from './runner-story.ts';

/** How a call may have ended when its runner was killed during it. */
export type Outcome =
  /** Completed as usual. */
  | 'completed'
  /** The runner knows that it did not run. */
  | 'not done'
  /** It is not known whether it ran; the agent is told to check. */
  | 'unknown';

/** A kind of call during which a runner is killed. `n` makes each call unique. */
export interface KillPlan {
  readonly tool: string;
  readonly onlyReads: boolean;
  /** The outcome when the runner dies right after that step. */
  readonly steps: Partial<Readonly<Record<KillStep, Outcome>>>;
  /** Its process is kept for later calls, so only a fresh runner starts one. */
  readonly keepsProcess?: boolean;
  /** Random kills come within this many milliseconds of the decision. */
  readonly within: number;
  /** Prepares the disk and returns the parameters. */
  prepare(story: RunnerStory, n: number): object;
  /** How often the call has run, by traces outside the runner. Throws where something is half done. */
  effects(story: RunnerStory, n: number): number;
}

const beforeJournal = { 'claim asked': 'completed', 'claim granted': 'completed' } as const;
const afterwards = {
  'journal ended': 'completed',
  'result asked': 'completed',
  'result answered': 'completed',
} as const;
/** File tools record what they are about to do, so that it is known afterwards whether they did it. */
const written = {
  'journal started': 'not done',
  'journal recorded': 'not done',
  'half of the write': 'not done',
  'written, not renamed': 'not done',
  renamed: 'completed',
  'journal ended': 'completed',
} as const;
const started = { 'journal started': 'unknown', 'process started': 'unknown' } as const;
/** What a command wrote in its layer lands whole or not at all (RN-12). */
const layered = { 'layer recorded': 'not done', 'landing recorded': 'completed' } as const;

const linesOf = (story: RunnerStory, path: string): string[] =>
  existsSync(story.at(path)) ? story.read(path).split('\n').slice(0, -1) : [];
const count = (lines: readonly string[], line: string): number => lines.filter((one) => one === line).length;
const recordedChanges = (story: RunnerStory, line: string): number => count(story.recordedChanges(), line);

/** Content larger than any buffer, so that a partial write would show. */
const large = (n: number): string => `${`line ${n} `.repeat(40_000)}\n`;

export const killPlans: Readonly<Record<string, KillPlan>> = {
  append: {
    tool: 'write_file',
    onlyReads: false,
    steps: { ...beforeJournal, ...written, ...afterwards, acknowledged: 'completed' },
    within: 60,
    prepare(story, n) {
      story.write(`append-${n}.md`, 'old\n');
      return { path: `append-${n}.md`, content: large(n), mode: 'append' };
    },
    effects(story, n) {
      const content = story.read(`append-${n}.md`);
      const times = [0, 1, 2].find((many) => content === `old\n${large(n).repeat(many)}`);
      if (times === undefined) throw new Error(`append-${n}.md has ${content.length} characters`);
      return times;
    },
  },
  edit: {
    tool: 'edit_file',
    onlyReads: false,
    steps: written,
    within: 60,
    prepare(story, n) {
      story.write(`edit-${n}.md`, 'begin\nend\n');
      return { path: `edit-${n}.md`, old: 'end\n', new: 'line\nend\n' };
    },
    effects(story, n) {
      const match = /^begin\n((?:line\n)*)end\n$/.exec(story.read(`edit-${n}.md`));
      if (!match) throw new Error(`edit-${n}.md is ${story.read(`edit-${n}.md`)}`);
      return (match[1] ?? '').length / 'line\n'.length;
    },
  },
  copy: {
    tool: 'copy_file',
    onlyReads: false,
    steps: {
      'journal recorded': 'not done',
      'half of the write': 'not done',
      renamed: 'completed',
      'journal ended': 'completed',
    },
    within: 60,
    prepare(story, n) {
      story.write(`source-${n}.md`, large(n));
      return { source: `source-${n}.md`, dest: `copy-${n}.md` };
    },
    effects(story, n) {
      const times = recordedChanges(story, `renamed copy-${n}.md`);
      if (existsSync(story.at(`copy-${n}.md`)) !== times > 0)
        throw new Error(`copy-${n}.md: ${times} renames`);
      if (times > 0 && story.read(`copy-${n}.md`) !== large(n)) throw new Error(`copy-${n}.md is not whole`);
      return times;
    },
  },
  move: {
    tool: 'move_file',
    onlyReads: false,
    steps: {
      'journal recorded': 'not done',
      'half of the write': 'not done',
      renamed: 'unknown',
      unlinked: 'completed',
      'journal ended': 'completed',
    },
    within: 60,
    prepare(story, n) {
      story.write(`from-${n}.md`, large(n));
      return { source: `from-${n}.md`, dest: `to-${n}.md` };
    },
    effects(story, n) {
      const times = recordedChanges(story, `unlinked from-${n}.md`);
      const left = [`from-${n}.md`, `to-${n}.md`].filter((path) => existsSync(story.at(path)));
      if (left.some((path) => story.read(path) !== large(n))) throw new Error(`${left} is not whole`);
      if (left.includes(`from-${n}.md`) === times > 0) throw new Error(`from-${n}.md: ${times} deletions`);
      return times;
    },
  },
  delete: {
    tool: 'delete_file',
    onlyReads: false,
    steps: {
      'journal started': 'not done',
      'journal recorded': 'not done',
      unlinked: 'completed',
      'journal ended': 'completed',
    },
    within: 60,
    prepare(story, n) {
      story.write(`delete-${n}.md`, 'old\n');
      return { path: `delete-${n}.md` };
    },
    effects: (story, n) => recordedChanges(story, `unlinked delete-${n}.md`),
  },
  mkdir: {
    tool: 'create_directory',
    onlyReads: false,
    steps: {
      'claim granted': 'completed',
      'journal started': 'not done',
      'journal recorded': 'not done',
      'directory made': 'completed',
      'journal ended': 'completed',
    },
    within: 60,
    prepare: (_desk, n) => ({ path: `directory-${n}` }),
    effects: (story, n) => recordedChanges(story, `made directory-${n}`),
  },
  command: {
    tool: 'execute_command',
    onlyReads: false,
    steps: { ...beforeJournal, ...started, ...layered, ...afterwards },
    within: 250,
    prepare(story, n) {
      story.write(`command-${n}.js`, `require('node:fs').appendFileSync('command-${n}.log', 'done\\n');\n`);
      return { command: 'node', args: [`command-${n}.js`] };
    },
    effects: (story, n) => count(linesOf(story, `command-${n}.log`), 'done'),
  },
  shell: {
    tool: 'shell_exec',
    onlyReads: false,
    steps: {
      'claim granted': 'completed',
      ...started,
      ...layered,
      renamed: 'completed',
      'journal ended': 'completed',
      'result asked': 'completed',
    },
    within: 400,
    prepare: (_desk, n) => ({
      command: `echo begun >> shell-${n}.log; sleep 0.2; echo done >> shell-${n}.log`,
    }),
    effects(story, n) {
      const lines = linesOf(story, `shell-${n}.log`);
      if (count(lines, 'done') !== count(lines, 'begun')) throw new Error(`shell-${n}.log: ${lines}`);
      return count(lines, 'begun');
    },
  },
  background: {
    tool: 'shell_background',
    onlyReads: false,
    steps: { ...started, 'journal ended': 'completed', 'result asked': 'completed' },
    within: 100,
    prepare: (_desk, n) => ({ command: `echo begun >> job-${n}.log; sleep 30; echo done >> job-${n}.log` }),
    /** The job itself always ends with its runner. */
    effects: (story, n) => (count(linesOf(story, `job-${n}.log`), 'begun') > 1 ? 2 : 1),
  },
  commit: {
    tool: 'git_commit',
    onlyReads: false,
    steps: { 'claim granted': 'completed', ...started, 'journal ended': 'completed' },
    within: 600,
    prepare(story, n) {
      story.write(`commit-${n}.md`, `${n}\n`);
      return { message: `commit ${n}`, files: [`commit-${n}.md`] };
    },
    effects: (story, n) => count(story.git('log', '--all', '--format=%s').split('\n'), `commit ${n}`),
  },
  branch: {
    tool: 'git_branch',
    onlyReads: false,
    steps: { 'journal started': 'unknown', 'journal ended': 'completed' },
    within: 200,
    prepare: (_desk, n) => ({ name: `branch-${n}`, create: true }),
    effects: (story, n) => count(story.git('branch', '--format=%(refname:short)').split('\n'), `branch-${n}`),
  },
  push: {
    tool: 'git_push',
    onlyReads: false,
    steps: { ...started, 'journal ended': 'completed' },
    within: 600,
    prepare(story, n) {
      story.git('branch', `push-${n}`);
      return { branch: `push-${n}` };
    },
    // The remote records each push that it accepts.
    effects: (story, n) => {
      const log = `${story.outside}/remote.git/logs/refs/heads/push-${n}`;
      return existsSync(log) ? readFileSync(log, 'utf8').split('\n').length - 1 : 0;
    },
  },
  read: reading('read_file', { path: 'README.md' }, {}),
  search: reading('search_files', { content: 'Hello' }, { 'process started': 'completed' }),
  status: reading('git_status', {}, { 'process started': 'completed' }),
  lsp: {
    ...reading('symbols', { path: 'app.ts' }, { 'process started': 'completed' }),
    keepsProcess: true,
  },
};

/** A call that only reads is repeated: the agent gets its result. */
function reading(tool: string, params: object, steps: KillPlan['steps']): KillPlan {
  return {
    tool,
    onlyReads: true,
    steps: { ...steps, 'result asked': 'completed', 'result answered': 'completed' },
    within: 100,
    prepare: () => params,
    effects: () => 1,
  };
}
