import { englishCount as count } from '../plural.ts';

/** The texts of an approval card. A translation that lacks one of them does not compile. */
export const englishApproval = {
  region: (what: string) => `Approval: ${what}`,
  approve: 'Approve',
  approveAll: (n: number) => `Approve all ${n} shown`,
  lookAtEach: (seen: number, n: number) => `Look at each first: ${seen} of ${n} seen.`,
  ownStep: (n: number) =>
    `${count(n, 'other is', 'others are')} decided on ${n === 1 ? 'its' : 'their'} own card.`,
  reject: 'Reject',
  wider: 'Approve more…',
  edit: 'Edit first',
  tryFirst: 'Try it first',
  /** Approves a tried call whose changes are shown: they are made without running it again. */
  approveChanges: 'Approve changes',
  trying: 'Trying it without network; nothing in your project changes yet…',
  tryingNeeded: 'It can be approved once the trial has ended.',
  openDiff: 'Open diff',
  confirmTitle: 'This is a high-risk call. Look at it once more.',
  confirm: 'Yes, approve this high-risk call',
  confirmUnseenTitle: 'There is no preview yet: you would approve this without having seen what it does.',
  confirmUnseen: 'Yes, approve it unseen',
  back: 'Back',
  notAllSeen: 'Not all of it was in sight yet. Here is the rest.',
  tooSoon: 'Too quick: look at the card for half a second, then decide.',
  previewPending: 'Your machine is still working out what exactly would happen…',
  previewNeeded: 'It can be approved once its preview is here.',
  noRunner: 'No runner is connected to make the preview.',
  whatHappens: 'What will happen',
  from: 'From the conversation',
  openChat: 'Show in the conversation',
  timeLeft: (text: string) => `${text} left`,
  timeLeftLabel: 'Time left to decide',
  sending: 'Sending your decision…',
  raw: 'All parameters',
  revised: (n: number) => `Revision ${n}`,
  askedAgain:
    'This was allowed before, but nothing ran: what would run has changed since, or needs you after all. Look at it anew.',
  saidReason: 'Reason',
  saidMessage: 'Message to the agent',
  notices: {
    PREVIEW_CHANGED:
      'Not approved yet: what would happen changed while you looked. This is the new preview; decide on it.',
    PREVIEW_PENDING:
      'Not approved yet: the preview of this is still being made. Decide when it is here. You can reject it now; otherwise it expires by itself.',
    RISK_ROSE:
      'Not approved yet: with your changes the risk is higher. Look at the new preview and its reasons, then decide.',
    APPROVAL_STALE: 'Nothing ran: something changed after you approved. You are asked again.',
    ALREADY_DECIDED: 'Your decision came later and does not count: the first one stands.',
    GRANT_NOT_ALLOWED:
      'Not approved: this wider approval is not possible here. You can still approve this one.',
  },
  editTitle: 'Edit the parameters',
  editFields: 'Fields',
  editOthers: 'Other parameters',
  editCommand: 'Command',
  editCommandInvalid: 'A quotation mark has no end.',
  editJson: 'JSON',
  editInvalid: (problem: string) => `This is not a JSON object: ${problem}`,
  editApprove: 'Approve with these parameters',
  editHint: 'Your version is checked and assessed again. If its risk is higher, you see its preview first.',
  cancel: 'Cancel',
  rejectTitle: 'Reject',
  rejectMessage: 'Tell the agent why, or what to do instead',
  rejectSend: 'Reject this call',
  scopeTitle: 'Approve more than this one',
  /** What a wider approval covers; used in the middle of a sentence. */
  covers: {
    tool: (tool: string) => `all calls of ${tool}`,
    commands: (program: string) => `harmless ${program} commands`,
    command: (command: string) => `the command ${command}`,
    git: 'harmless git commands, commits and new branches',
    host: (host: string) => `network access to ${host}`,
    folder: (folder: string) => `changes under ${folder}`,
    file: (path: string) => `changes to ${path}`,
    deletedFolder: (folder: string) => `deleting files under ${folder}`,
    deletedFile: (path: string) => `deleting ${path}`,
    both: (first: string, second: string) => `${first} and ${second}`,
  },
  scope: {
    class: (what: string) => `${what} in this conversation`,
    session: 'Whole conversation: every tool',
    project: (what: string) => `Always in this project: ${what}`,
    always: (what: string) => `Always: ${what}`,
  },
  scopeAlwaysWarning: 'A rule is saved in your policy and counts in every conversation.',
  scopeProjectWarning: 'It counts in every conversation of this project, until you revoke it.',
  /** Label of the list that chooses how much of one command of a line is covered. */
  coversOf: (command: string) => `Of ${command}`,
  scopeSessionWarning:
    'The agent changes files and runs commands in this conversation without asking you again. High-risk calls still ask.',
  includeHigh: 'High-risk calls too, without asking',
  includeHighWarning: 'Deleting files, shell commands and pushes would run without your decision.',
  scopeUpTo: (risk: string) => `up to ${risk}`,
  scopeApprove: 'Approve and remember',
  alwaysApprove: 'Approve and save the rule',
  scopeNone: 'This call can only be approved one by one.',
  backtest: (decided: number, rejected: number) =>
    `This rule would have decided ${count(decided, 'earlier call', 'earlier calls')}, ${rejected} of which you rejected.`,
  backtestNone: 'This rule would have decided none of your earlier calls.',
  backtestBusy: 'Looking at your earlier calls…',
  backtestFailed: 'Your earlier calls could not be looked at:',
  /** Titles by tool, with placeholders for the caller and for parameters. Without a title, the server's sentence is shown. */
  title: {} as Readonly<Record<string, string | undefined>>,
  /** The verb of each title. The name of an agent must not contain it. */
  wants: 'wants to',
  /** The caller if it has no name. An agent must not use one of these names, or the person's, as its own. */
  callers: {
    Agent: 'Agent',
    'Outside agent': 'Outside agent',
    Person: 'Person',
    'Front end': 'Front end',
    Runner: 'Runner',
  },
  you: 'You',
  /** The modes of a conversation, and what each means. */
  modes: {
    ask: { name: 'Ask', means: 'You are asked before anything changes.' },
    accept_edits: {
      name: 'Accept edits',
      means:
        'In this conversation file tools change files of the project without asking. Deleting, commands, settings that run code and high-risk calls still ask.',
    },
    read_only: {
      name: 'Read only',
      means: 'In this conversation the agent only reads: whatever could change something is blocked.',
    },
  },
  newOne: (what: string) => `New approval: ${what}`,
};
