import type { BuiltInToolName } from '@countersign/protocol';
import { englishCount as count } from '../plural.ts';

/** The title of a call before, while and after it runs. */
export interface CallTitle {
  readonly plan: string;
  readonly doing: string;
  readonly done: string;
}

/** How a call reads in a list of calls: its title in the tense of its state, and its outcome. */
export const englishCalls = {
  title: {
    read_file: { plan: 'Read {object}', doing: 'Reading {object}', done: 'Read {object}' },
    write_file: { plan: 'Write {object}', doing: 'Writing {object}', done: 'Wrote {object}' },
    edit_file: { plan: 'Edit {object}', doing: 'Editing {object}', done: 'Edited {object}' },
    search_files: {
      plan: 'Search for {object}',
      doing: 'Searching for {object}',
      done: 'Searched for {object}',
    },
    delete_file: { plan: 'Delete {object}', doing: 'Deleting {object}', done: 'Deleted {object}' },
    list_directory: { plan: 'List {object}', doing: 'Listing {object}', done: 'Listed {object}' },
    create_directory: {
      plan: 'Create the folder {object}',
      doing: 'Creating the folder {object}',
      done: 'Created the folder {object}',
    },
    copy_file: { plan: 'Copy {object}', doing: 'Copying {object}', done: 'Copied {object}' },
    move_file: { plan: 'Move {object}', doing: 'Moving {object}', done: 'Moved {object}' },
    execute_command: { plan: 'Run {object}', doing: 'Running {object}', done: 'Ran {object}' },
    reach_host: {
      plan: 'Connect a running command to {object}',
      doing: 'Connecting a running command to {object}',
      done: 'Connected a running command to {object}',
    },
    shell_exec: { plan: 'Run {object}', doing: 'Running {object}', done: 'Ran {object}' },
    shell_background: { plan: 'Start {object}', doing: 'Starting {object}', done: 'Started {object}' },
    shell_output: {
      plan: 'Read the output of job {object}',
      doing: 'Reading the output of job {object}',
      done: 'Read the output of job {object}',
    },
    shell_kill: { plan: 'Stop job {object}', doing: 'Stopping job {object}', done: 'Stopped job {object}' },
    git_status: {
      plan: 'Look at the git status {object}',
      doing: 'Looking at the git status {object}',
      done: 'Looked at the git status {object}',
    },
    git_diff: {
      plan: 'Compare with git {object}',
      doing: 'Comparing with git {object}',
      done: 'Compared with git {object}',
    },
    git_log: {
      plan: 'Read the git log {object}',
      doing: 'Reading the git log {object}',
      done: 'Read the git log {object}',
    },
    git_commit: { plan: 'Commit “{object}”', doing: 'Committing “{object}”', done: 'Committed “{object}”' },
    git_branch: { plan: 'Git branch {object}', doing: 'Git branch {object}', done: 'Git branch {object}' },
    git_push: { plan: 'Push {object}', doing: 'Pushing {object}', done: 'Pushed {object}' },
    diagnostics: {
      plan: 'Check {object} for problems',
      doing: 'Checking {object} for problems',
      done: 'Checked {object} for problems',
    },
    symbols: {
      plan: 'List the symbols of {object}',
      doing: 'Listing the symbols of {object}',
      done: 'Listed the symbols of {object}',
    },
    hover: { plan: 'Look up {object}', doing: 'Looking up {object}', done: 'Looked up {object}' },
    definition: {
      plan: 'Find the definition at {object}',
      doing: 'Finding the definition at {object}',
      done: 'Found the definition at {object}',
    },
    references: {
      plan: 'Find references to {object}',
      doing: 'Finding references to {object}',
      done: 'Found references to {object}',
    },
    other: { plan: 'Use {tool} {object}', doing: 'Using {tool} {object}', done: 'Used {tool} {object}' },
  } satisfies Readonly<Record<BuiltInToolName | 'other', CallTitle>> as Readonly<
    Record<BuiltInToolName | 'other', CallTitle>
  >,
  /** The workspace's own folder, where a path is `.`. */
  root: 'the project root',
  /** What a call did to a file, or the state that git gives a file. */
  operations: {
    created: 'new',
    added: 'new',
    modified: 'changed',
    deleted: 'deleted',
    moved: 'moved',
    renamed: 'renamed',
    copied: 'copied',
    untracked: 'untracked',
    conflicted: 'in conflict',
    type_changed: 'another type',
  },
  /** The last line of a result that was cut. */
  more: '… there is more',
  /** What became of the changes of a command, beside the files that it changed. */
  landing: {
    withheld: (paths: string) => `Withheld and kept aside, because it would run code later: ${paths}`,
    conflicts: (paths: string) =>
      `Not replaced, because somebody else changed it meanwhile; the command's version is kept aside: ${paths}`,
    incomplete: (why: string) => `Not everything is listed: ${why}`,
    notUndoable: (why: string) => `Cannot be undone: ${why}`,
    andMore: (paths: string, n: number) => `${paths} and ${n} more`,
  },
  outcome: {
    lines: (n: number) => count(n, 'line', 'lines'),
    noOutput: 'no output',
    exit: (code: number) => `exit ${code}`,
    stopped: 'stopped',
    picture: 'picture',
    entries: (n: number) => count(n, 'entry', 'entries'),
    matches: (n: number, files: number) =>
      `${count(n, 'match', 'matches')} in ${count(files, 'file', 'files')}`,
    noMatches: 'no match',
    files: (n: number) => count(n, 'file', 'files'),
    changed: (n: number) => count(n, 'file changed', 'files changed'),
    clean: 'nothing changed',
    commits: (n: number) => count(n, 'commit', 'commits'),
    branches: (n: number) => count(n, 'branch', 'branches'),
    problems: (n: number) => count(n, 'problem', 'problems'),
    noProblems: 'no problems',
    symbols: (n: number) => count(n, 'symbol', 'symbols'),
    places: (n: number) => count(n, 'place', 'places'),
    cut: (text: string) => `${text}, cut`,
  },
  /** A conversation that is exported as Markdown. */
  markdown: {
    untitled: 'Conversation',
    you: 'You',
    agent: 'Agent',
    failed: (why: string) => `failed: ${why}`,
    rejected: 'you rejected it',
    told: (message: string) => `you rejected it: ${message}`,
    notStarted: 'not started',
    noResult: 'no result',
  },
  /** The state of a call whose title and outcome do not tell it. */
  state: {
    pending: 'Getting ready',
    awaiting_approval: 'Waits for you',
    approved: 'Approved',
    executing: 'Running',
    completed: 'Done',
    failed: 'Failed',
    blocked: 'Blocked',
    rejected: 'Rejected',
    timeout: 'Expired',
    cancelled: 'Cancelled',
    not_started: 'Not started',
    undone: 'Undone',
  },
  /** Who decided about a call, and what else the decision covers. */
  decided: {
    approved: 'You approved this',
    rejected: 'You rejected this',
    allowed: 'Allowed by a rule or grant of yours',
    allowedBy: {
      class: 'Allowed in this conversation',
      session: 'Allowed in this conversation',
      always: 'Allowed by your rule',
      mode: 'Edits are accepted in this conversation',
    },
    timeout: 'Nobody decided in time',
    cancelled: 'Withdrawn before you decided',
    /** After `approved` or `rejected`, where it was not this device. */
    inProgram: (program: string) => ` in ${program}`,
    inTerminal: ' in the terminal',
    onDevice: (device: string) => ` on ${device}`,
    /** The decision named no device. */
    withToken: (name: string) => ` with the token “${name}”`,
    elsewhere: ' on another device',
    /** After `approved`, for a wider approval. */
    wider: {
      class: ' and what is like it, in this conversation',
      session: ' and the whole conversation',
      always: ' and always from now on',
    },
  },
};
