import { languageCodes } from '../language.ts';
import { englishCount as count, englishPlural as plural } from '../plural.ts';
import { sayIn } from '../said.ts';
import { englishCommands } from './commands.ts';
import { englishHelp } from './help.ts';
import { englishPreview } from './preview.ts';

/** The texts of the terminal. A translation that lacks one of them does not compile. */
export const englishTerminal = {
  ...englishCommands,
  help: englishHelp,
  optionsTitle: 'Options',
  /** Translates the sentences of server and runner. */
  said: sayIn('en'),
  error: 'error',
  risk: { LOW: 'LOW', MEDIUM: 'MEDIUM', HIGH: 'HIGH' },
  card: {
    ...englishPreview,
    left: (time: string) => `${time} left`,
    timeIsOver: 'time is over',
    revision: (n: number) => `revision ${n}`,
    why: 'Why',
    said: 'Said',
    elsewhere: 'In another conversation:',
    step: (n: number) => `step ${n}`,
    parameters: 'Parameters',
    previewComing: 'The preview is being made where the files are …',
    noPreview:
      'There is no preview yet. A runner makes it where the files are; to start one: countersign connect',
    window: (from: number, to: number, of: number) => `lines ${from}–${to} of ${of}`,
    scrollKeys: '↑ ↓ scroll · v print all',
    more: (n: number) => `${n} more ${plural(n, 'waits', 'wait')} · l list`,
  },
  keys: {
    look: [
      ['y', 'approve'],
      ['n', 'reject'],
      ['a', 'wider'],
      ['e', 'edit'],
      ['?', 'help'],
    ] as [string, string][],
    help: [
      'y  approve this one; a HIGH one asks a second time',
      'n  reject; you may tell the agent what to do instead',
      'a  approve more than this one: a class of calls, or the session',
      'e  change the parameters, then approve',
      'l  list what waits, and choose another',
      '↑ ↓ space  scroll the preview · v  print all of it above',
      'A key counts once the card has been here for half a second. Nothing is decided by time or by leaving.',
    ],
    confirmHigh: 'HIGH risk. Look again, then press y to approve. Any other key goes back.',
    confirmUnseen: 'There is no preview yet. Press y to approve it unseen. Any other key goes back.',
    rejectPrompt: 'Reject. For the agent:',
    rejectHint: 'Enter rejects, with or without words · Esc goes back',
    scopesTitle: 'Approve this one, and from now on also:',
    noScopes: 'This call can only be approved one at a time.',
    unfit: 'The preview does not fit its digest: this call can only be rejected.',
    scopesHint: 'Press a number · Esc goes back',
    scopeConfirm: 'Press y to approve and remember · Esc goes back',
    includeHigh: (on: boolean) => `[${on ? 'x' : ' '}] h  HIGH calls too`,
    highWarning: 'HIGH calls will run without a second look.',
    backtesting: 'Looking at your history …',
    backtest: (t: { considered: number; matched: number; approved: number; rejected: number }) =>
      t.matched === 0
        ? `None of your last ${t.considered} calls would have been covered.`
        : `It would have covered ${t.matched} of your last ${t.considered} calls: you approved ${t.approved} of them and rejected ${t.rejected}.`,
    backtestFailed: (why: string) => `Your history could not be looked at: ${why}`,
    editedTitle: 'Your change:',
    editedConfirm: 'Press y to approve it with these parameters · e edit again · Esc forgets the change',
    editUnchanged: 'Nothing was changed.',
    editBroken: (problem: string) => `That is not a JSON object: ${problem}. Press e to go on editing.`,
    editFailed: (problem: string) => `The editor did not work: ${problem}`,
    editLine: 'Parameters as JSON:',
    editLineHint: 'Enter takes them · Esc goes back · set EDITOR to edit in your editor',
    listTitle: 'Waiting for you',
    listHint: '↑ ↓ choose · Enter shows it · Esc goes back',
    sending: 'Sending …',
    waitForPreview: 'It can be approved once its preview is here. It is being made.',
  },
  outcome: {
    approvedHere: 'approved here',
    approvedOn: (place: string) => `approved${place}`,
    approvedByGrant: 'approved by what you granted',
    rejectedHere: 'rejected here',
    rejectedOn: (place: string) => `rejected${place}`,
    timeout: 'expired: nobody decided in time',
    cancelled: 'withdrawn: the call was cancelled',
    failed: (why: string) => `failed before anybody decided: ${why}`,
    granted: (id: string) => `granted (${id})`,
    saved: (rule: string) => `saved in your policy as ${rule}`,
    revised: 'It was changed; look at it anew.',
  },
  activity: {
    completed: 'done',
    failed: 'failed',
    blocked: 'blocked',
    rejected: 'rejected',
    timeout: 'expired',
    cancelled: 'cancelled',
    not_started: 'not started',
    late: 'came late',
    undone: 'undone',
    undoFailed: 'could not be undone',
    exit: (code: number) => `exit ${code}`,
    /** Lines of a result that are not shown. */
    hidden: (n: number) => `… ${count(n, 'line', 'lines')} more`,
    took: (ms: number) => (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`),
    runner: (state: string, workspace: string) =>
      state === 'connected' ? `A runner is connected for ${workspace}` : `The runner of ${workspace} is gone`,
  },
  stream: {
    connecting: (server: string) => `Connecting to ${server} …`,
    open: (server: string) => `Connected to ${server}`,
    waiting: (why: string, seconds: number) =>
      seconds === 0
        ? `The connection was lost (${why}). Connecting again …`
        : `The connection was lost (${why}). Trying again in ${seconds} s.`,
    unauthenticated: (server: string) =>
      `${server} does not take the token any more. Sign in again: countersign sign-in`,
    refused: (why: string) => `The server refused the connection: ${why}`,
  },
  server: {
    badAddress: (url: string) =>
      `"${url}" is not an address of a server. It looks like http://127.0.0.1:4180`,
    noSecrets: 'A user name, a password or a query does not belong into a server address',
    plainHttp: (url: string) =>
      `${url} would carry your token unencrypted. Use https, or set COUNTERSIGN_ALLOW_HTTP=1 if the network is yours alone`,
    notSignedIn: (server: string) =>
      `You are not signed in to ${server}. Run countersign sign-in and paste the link that the server prints, or set COUNTERSIGN_TOKEN`,
    brokenCredentials: (path: string) => `"${path}" cannot be read. Remove it and sign in again`,
    pasteLink: 'Paste the sign-in link that "countersign serve" printed, or your token: ',
    tokenAsWord:
      'A token does not belong on a command line, where others can read it. Paste it when you are asked, or: countersign sign-in < FILE',
    noLink:
      'There is no sign-in link. "countersign serve" prints one that is good once, for 60 s; while it runs, "countersign serve --link" makes another',
    badLink: 'That is not a sign-in link. It looks like http://127.0.0.1:4180/#sign-in=…',
    signedIn: (server: string, until: string | undefined) =>
      until === undefined ? `Signed in to ${server}.` : `Signed in to ${server} until ${until}.`,
    signedOut: (server: string) => `Signed out of ${server}.`,
    wasNotSignedIn: (server: string) => `You were not signed in to ${server}.`,
    noProject: (workspace: string) =>
      `No project on this server is about ${workspace}. Run countersign connect there first, or name one with --project`,
    needsProject: 'This token cannot list projects. Name one with --project ID',
    cannotCreate: (workspace: string) =>
      `There is no project for ${workspace} yet, and this token may not make one. Sign in as yourself, or name one with --project`,
  },
  approvals: {
    none: 'Nothing waits for you.',
    waiting: (n: number) => `${count(n, 'call waits', 'calls wait')} for you`,
    ambiguous: (id: string) => `"${id}" begins several ids. Type more of it`,
    which: 'Which approval? Name its ID, or the first letters of it; "countersign approvals" shows them',
    unknown: (id: string) => `No approval that waits begins with "${id}"`,
    needsDigest:
      'Without a terminal an approval names what was looked at: --digest, from "approvals show ID --json"',
    needsHigh: 'This call is HIGH: say so with --high, the deliberate second step',
    recorded: { approved: 'Approved.', rejected: 'Rejected.' },
    already: 'That decision stands already.',
    overruled: (status: string) => `Too late: it was ${status} before.`,
    watching: 'Waiting for approvals · Ctrl-C leaves',
    noTerminal: 'Cards need a terminal. For programs: countersign approvals list --json',
    hint: 'countersign approvals show ID · approve ID · reject ID · watch',
  },
  history: {
    none: 'No calls are recorded that fit.',
    more: (cursor: string) => `There is more: --cursor ${cursor}`,
    badSince: (text: string) => `"${text}" is no time. Use 2026-11-15, 2026-11-15T08:00:00Z, 30m, 12h or 7d`,
    undoable: 'can be undone',
    undone: 'undone',
  },
  try: {
    noCommand: 'No command. Write it after --, such as: countersign try -- npm run build',
    badLimit: (option: string, text: string) => `--${option} is a whole number from 1, not "${text}"`,
    begins: (seconds: number) => `Trying it in a layer: no network, secrets covered, at most ${seconds} s`,
    /** What the command would do, in one line. */
    counts: (changed: number, created: number, deleted: number) =>
      [
        ...(changed > 0 ? [`${changed} changed`] : []),
        ...(created > 0 ? [`${created} created`] : []),
        ...(deleted > 0 ? [`${deleted} deleted`] : []),
      ].join(', ') || 'nothing changed',
    ended: (code: number, seconds: string) => `exit ${code} · ${seconds} s`,
    deleted: 'Deleted',
    changed: 'Changed',
    created: 'Created',
    below: (n: number) => `with ${count(n, 'entry', 'entries')}`,
    gitData: (n: number) => `git's own data: ${count(n, 'entry', 'entries')}`,
    noDiff: 'no diff: binary, large, or changed meanwhile',
    moreLines: (n: number) => `… ${count(n, 'more line', 'more lines')}`,
    moreEntries: (n: number) => `… and ${n} more; --json lists them all`,
    withheld: 'These execute later, so they do not land (VA-3)',
    conflicts: 'These were changed by others meanwhile, so they do not land',
    leftOut: 'Pipes, sockets, devices and paths that are too long cannot land',
    hosts: 'It tried to reach',
    question: (folder: string) => `Land this in ${folder}?`,
    keys: 'y lands it · n or Enter drops it',
    typed: 'Land it? (y/N) ',
    tooSoon: 'That was typed before the question. Once more, please.',
    landing: (n: number) => `Landing ${count(n, 'change', 'changes')} …`,
    landed: (n: number) =>
      `${count(n, 'change', 'changes')} landed. To take it back: countersign undo --last`,
    notLanded: (why: string) => `Nothing landed. ${why}`,
    kept: (folder: string) => `What did not land is kept in ${folder}`,
    dropped: 'Dropped: the folder is as it was.',
    notAsked: 'Dropped: there is no terminal to ask. --land lands it at once.',
    cancelled: (n: number) => `Stopped. Nothing landed; ${count(n, 'change was', 'changes were')} dropped.`,
    killed: (signal: string, n: number) =>
      `The signal ${signal} ended it. Nothing landed; ${count(n, 'change was', 'changes were')} dropped.`,
    limits: {
      seconds: (n: number) => `It ran for longer than ${n} s (--timeout)`,
      bytes: (n: number) => `It wrote more than ${n} MiB (--max-mib)`,
      files: (n: number) => `It wrote more than ${n} files (--max-files)`,
    },
    limited: (why: string, n: number) =>
      `${why}. Nothing landed; ${count(n, 'change was', 'changes were')} dropped.`,
  },
  undo: {
    which:
      'Which call? Name a tool id from "countersign history", a run with --run ID, or the newest here with --last',
    last: (tool: string, paths: string, others: number) =>
      `${tool}, ${paths}${others > 0 ? ` and ${others} more` : ''}`,
    nothing: 'Nothing in that run can be undone.',
    asked: (what: string) => `Asking the runner to undo ${what} …`,
    done: (what: string) => `Undone: ${what}`,
    failed: (what: string, why: string) => `Not undone: ${what}. ${why}`,
    forceHint: 'With --force the file is restored also where it was changed since.',
    takeBack: (undoId: string) =>
      `What was there before is kept. To take this back: countersign undo --offline ${undoId}`,
    noAnswer: (seconds: number) =>
      `The runner did not answer within ${seconds} s. Look at countersign history.`,
    offline: (why: string) =>
      `The server cannot be asked (${why}), so the undo is made from this machine's journal.`,
  },
  chat: {
    thinking: 'thinking …',
    working: 'working …',
    waitingForApproval: 'waits for a decision …',
    stopHint: 'Ctrl-C stops · type to queue a message',
    stopping: 'Stopping … Ctrl-C again leaves at once',
    failed: (why: string) => `It failed: ${why}`,
    prompt: 'you',
    inputHint: 'Enter sends · / commands · Shift-Tab mode · Ctrl-O last result · Ctrl-D leaves',
    changed: (n: number, files: string) =>
      `${count(n, 'file', 'files')} changed: ${files}  (/undo puts back)`,
    queued: (text: string) => `queued: ${text}`,
    queueHint: 'Enter sends it now · ↑ takes it back',
    writingHint: 'Enter queues it for the next step · Esc clears',
    noResult: 'There is no result yet.',
    othersHint: (n: number) =>
      `${count(n, 'call of another conversation waits', 'calls of other conversations wait')} for you · Tab decides`,
    pendingHint: (n: number) => `${count(n, 'call waits', 'calls wait')} for you · Tab decides`,
    decideElsewhere: (description: string, id: string) =>
      `waits for a decision: ${description}\n  countersign approvals show ${id}`,
    onlyProject: (workspace: string) => `About ${workspace}, your only project here.`,
    noRunner: (workspace: string) =>
      `No runner is connected for ${workspace}; tools wait for one. Run in another terminal: countersign connect ${workspace}`,
    emptyMessage: 'There is nothing to send',
  },
  connect: {
    ready: (workspace: string) => `Runner for ${workspace}`,
    prompting: 'Approvals are asked here: y n a e ?',
    notPrompting: 'Approvals are decided elsewhere.',
    noTerminal: 'This is no terminal: approvals are decided elsewhere.',
    idle: (calls: number) => `${count(calls, 'call', 'calls')} so far · Ctrl-C ends`,
    held: (who: string) => `${who} is the runner of this workspace. This terminal joins as a front end.`,
    handedOver: (who: string) =>
      `${who} is the runner of this workspace now. This terminal comes back after it.`,
    heldNoPrompt: (who: string) => `${who} is the runner of this workspace already`,
    ending: 'Ending: what runs is stopped. Ctrl-C again leaves at once.',
    ended: 'Ended.',
    madeProject: (name: string) => `Made the project ${name}.`,
  },
  open: {
    none: (workspace: string) => `No background job listens on a port in ${workspace}.`,
    notListening: (port: number) =>
      `No background job listens on port ${port} here. "countersign open" lists the ports there are`,
    several: (port: number, jobs: string) =>
      `Several jobs listen on port ${port}: name one with --job (${jobs})`,
    forwarded: (address: string, port: number, command: string) =>
      `${address} is port ${port} of the background job ${command}. Ctrl-C ends this`,
  },
  doctor: {
    node: 'Node.js',
    server: 'Server',
    serverDown: (url: string, why: string) => `${url} does not answer (${why}). Start it: countersign serve`,
    token: 'Sign-in',
    tokenFrom: (where: string) => `signed in (${where})`,
    tokenRefused: 'the token is refused. Sign in again: countersign sign-in',
    tokenFileOpen: (path: string) => `${path} can be read by others. Run: chmod 600 ${path}`,
    runner: 'Runner',
    runnerHere: (workspace: string) => `connected for ${workspace}`,
    runnerBlind: (workspace: string) =>
      `connected for ${workspace}, but it makes no previews, so HIGH calls cannot be approved. Update Countersign there`,
    workspaceTwice: (projects: string) =>
      `several projects have this workspace: ${projects}. A runner previews and executes for its own one only`,
    runnerNone: (workspace: string) => `none for ${workspace}. Run: countersign connect ${workspace}`,
    isolation: 'Isolation',
    level: { full: 'full', partial: 'partial', none: 'none' },
    parts: {
      bubblewrap: 'bubblewrap',
      'user namespace': 'user namespace',
      processes: 'processes',
      network: 'network',
      masks: 'masks',
      limits: 'limits',
      conversation: 'conversation',
      layers: 'layers',
      'system calls': 'system calls',
    },
    programs: 'Programs',
    programsAllSeen: 'commands find what your PATH has',
    programsListed: (folders: string) => `commands see ${folders} (runner.json)`,
    programsHidden: (folder: string, names: string, more: number) =>
      `commands do not see ${folder}: ${names}${more > 0 ? ` and ${more} more` : ''}`,
    pythonHidden: (folder: string) => `commands do not see the Python that ${folder} was made from`,
    folderRefused: (path: string, why: string) => `runner.json lets commands read ${path}, but ${why}`,
    folderMissing: (path: string) => `runner.json lists ${path}, which is not there`,
    folderInWorkspace: (path: string) =>
      `runner.json lists ${path}, which is in the workspace: programs are not found there`,
    mention: (folders: string, more: number) =>
      `Commands do not see your programs in ${folders}${more > 0 ? ` and ${more} more folders` : ''}. To change that: countersign doctor --add-programs`,
    howToAdd: 'To let commands use these programs: countersign doctor --add-programs',
    added: (file: string) => `Added to ${file}; it counts for the next command:`,
    nothingToAdd: 'There is nothing to add: commands find what your PATH has.',
    limits: 'Limits',
    limitsSaid: 'in force here, and where each comes from (docs/security.md)',
    limitFrom: { builtIn: 'built in', runner: "the runner's own settings", server: 'the server' },
    ceiling: 'Ceiling',
    ceilingNone: (path: string) =>
      `none: the server's decisions count. To decide some calls on this machine only, write ${path}`,
    git: 'git',
    gitMissing: 'not installed: the git tools do not work. Install git',
    languages: 'Language servers',
    policy: 'Policy',
    languagesMissing: (names: string) => `not there: ${names}. Install Countersign again`,
    policyFile: (path: string, n: number) => `${path}: ${count(n, 'rule', 'rules')}`,
    policyNone: 'no file on this machine: the built-in rules count',
    policyPerson: (n: number) => `your own, on the server: ${count(n, 'rule', 'rules')}`,
    workspace: 'Workspace',
    allWell: 'All that is needed is there.',
    notWell: 'Something that is needed is missing.',
    skipped: 'not looked at: there is no connection',
  },
  unexpected: (word: string) => `"${word}" is not expected here`,
  notOneOf: (word: string, allowed: string) => `"${word}" is not one of ${allowed}`,
  badLogLevel: (text: string, levels: string) => `--log-level ${text} is not a level: there are ${levels}`,
  badNumber: (name: string, text: string) => `--${name} ${text} is not a number that fits`,
  noCommand: (what: string) => `There is no "${what}"`,
  noLanguage: (what: string) => `"${what}" is not a language of ours: there are ${languageCodes('and')}`,
  unknownOption: (option: string) => `There is no option ${option}`,
  optionNeedsValue: (option: string) => `The option ${option} needs a value`,
  optionWithoutValue: (option: string) => `The option ${option} takes no value`,
  audit: {
    whichDatabase: (here: string | undefined) =>
      `Which database? Name it with --database${here ? `. What "countersign up" keeps for this directory is ${here}` : ''}`,
    noFormat: (format: string) => `There is no format "${format}"`,
    witnessNeedsUser: 'A witness speaks for one person: name them with --user',
    noDatabase: (path: string) => `There is no database "${path}"`,
    unreadable: 'The audit log could not be read.',
  },
};
