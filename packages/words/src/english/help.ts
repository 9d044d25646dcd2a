import { executionStatuses } from '@countersign/protocol';
import type { CommandHelp } from '../help-text.ts';
import { languageCodes } from '../language.ts';

const lang = `LANG  ${languageCodes('or')}`;
const server = 'URL  which server (default: the last one you signed in to)';
/** Options of the commands that start a runner. */
const runner = {
  'run-unisolated': 'where commands cannot be isolated, harmless ones run all the same instead of asking',
  'end-with-input': 'end when the standard input ends: for a program that starts it',
  'log-level':
    "LEVEL  show the runner's log: error (unless said), info or debug (arguments, results, times; masked)",
  'log-file':
    'FILE  append the log to FILE as JSON Lines, info unless --log-level says; errors are shown here too',
};

/** `--help` of each command. A translation that lacks an option does not compile. */
export const englishHelp = {
  main: {
    about: 'an AI agent uses tools on your machine, and you countersign what it does',
    usage: `countersign up [DIR]  everything at once: server, runner and web page; a sample without DIR

countersign sign-in  lets this terminal speak for you, with the link the server prints
countersign connect [DIR]  the runner of a workspace; approvals are asked in this terminal
countersign chat [MESSAGE]  talk to the agent and see what it does
countersign approvals  what waits for your decision
countersign history  what was called, decided and done
countersign try -- COMMAND  runs a command beside the folder and shows what it would change, before it does
countersign undo TOOL_ID  restores what a call changed; --last the newest one
countersign open [PORT]  what a background job of the agent serves, in your browser
countersign tools  your own tools: what there is, allow, make one
countersign doctor  what this machine has, what is missing, and how to get it

countersign mcp [DIR]  your tools for an MCP agent, over standard input and output
countersign acp  this agent for an ACP editor, over standard input and output
countersign tokens  what other programs use to reach your tools

countersign policy explain TOOL …  what would be decided about one call, and why
countersign policy check  the same for many calls, as JSON Lines
countersign policy try  type calls and see the decisions; nothing is executed
countersign policy backtest FILE  what a new rule would have decided on your recorded calls
countersign policy allow PATTERN  a rule of your own, also ask and deny; list, remove ID and edit for those there are
countersign policy import AGENT  what you allowed and denied in Claude Code, Codex, Gemini, opencode or VS Code

countersign audit verify  whether the log of decisions is whole
countersign audit export  the log, as JSON Lines or CSV

countersign serve  the server alone; runners and front ends connect to it
countersign serve --link  another sign-in link of it, for a second browser or editor

countersign COMMAND --help  more about one of them`,
  },
  acp: {
    about: "Countersign's agent in an editor that speaks the Agent Client Protocol",
    usage: `countersign acp  an editor starts this (Zed, Emacs agent-shell, …); see docs/acp.md
countersign acp --pair  lets editors on this machine show approvals and send your decisions; once
countersign acp --unpair  ends that`,
    notes: `Conversations, tool calls with their diffs and approvals appear in the editor. Whoever decides first, there or in
another place, has decided. Where no runner is connected for the folder, this program is the runner.`,
    options: {
      name: 'NAME  how the editor is called where decisions are listed (default: editor); with --pair',
      server:
        'URL  which server (default: that of "countersign up" for the folder, or the last one you signed in to)',
      lang,
    },
  },
  approvals: {
    about: 'what waits for your decision',
    usage: `countersign approvals [list]  everything that waits
countersign approvals show ID  one of them in full, with its preview
countersign approvals approve ID  shows the card and asks; for programs with --digest
countersign approvals reject ID  with --message, what the agent should do instead
countersign approvals watch  cards as they come, decided with y n a e ?`,
    notes: 'An ID may be shortened to its first letters.',
    options: {
      json: 'JSON: one line for each approval, or one for the decision',
      digest: 'DIGEST  approve: what you looked at, from show --json; then nothing is asked',
      high: 'approve: the deliberate second step for a HIGH call, with --digest',
      'include-high': 'approve: the wider scope covers HIGH calls too',
      scope: 'SCOPE  approve: once (default), class, session or always, as the card offers it',
      pattern: 'PATTERN  approve: of the offered scope',
      params: "JSON  approve: other parameters than the agent's",
      reason: 'TEXT  reject: why',
      message: 'TEXT  reject: for the agent',
      server,
      lang,
    },
    end: 'Ends with 1 when another decision stands already.',
  },
  audit: {
    about: 'the log of what was decided and done, and whether anybody changed it',
    usage: `countersign audit verify --database FILE|URL [--user ID] [--witness HASH] [--json]
    computes the chain of hashes again; ends with 1 when a row was changed, taken out or cut off

countersign audit export --database FILE|URL [--user ID] [--format ndjson|csv]
    prints every row`,
    options: {
      database:
        'FILE|URL  a SQLite file, or postgres://… (default: COUNTERSIGN_DATABASE in the environment, which is the place for a URL with a password)',
      user: 'ID  one person (default: everybody)',
      witness: "HASH  a head that one of the person's runners kept; it must be in the chain",
      format: 'FORMAT  ndjson (default) or csv',
      json: 'verify: one JSON line for each person',
      lang,
    },
    end: 'It reads beside a server that is running, and writes nothing.',
  },
  chat: {
    about: 'talk to the agent',
    usage: `countersign chat  a conversation in this terminal
countersign chat MESSAGE …  one message; the answer goes to standard output
countersign chat -  the same with the message from standard input`,
    options: {
      workspace: 'DIR  whose project it is about (default: this directory, else your only one)',
      project: 'ID  the project itself',
      session: "ID  go on in this conversation (default: the project's latest)",
      new: 'begin a new one',
      model: "NAME  provider:model (default: the server's)",
      json: 'the events of the conversation, one JSON line each, until the run has ended',
      server,
      lang,
    },
    end: `Approvals that come meanwhile are asked here when this is a terminal. Ctrl-C stops the run, a second one leaves.
Ends with 0 when the agent has answered, 1 when the run failed, 130 when it was stopped.`,
  },
  connect: {
    about: 'the runner of a workspace, in this terminal',
    usage: 'countersign connect [DIR]  (default: this directory)',
    notes: `It executes on this machine what you approve, and shows what happens. Approvals are asked here, each with a preview
of what would happen: y approve, n reject, a approve more than this one, e edit, ? help. It reconnects by itself;
Ctrl-C ends it, a second Ctrl-C at once.`,
    options: {
      'no-prompt': 'ask nothing here: another place decides',
      project: 'ID  connect to this project (default: the one of DIR; it is made when there is none)',
      ...runner,
      json: 'print what happens as JSON Lines, and ask nothing',
      server,
      lang,
    },
  },
  doctor: {
    about: 'what this machine has, what is missing, and how to get it',
    usage: 'countersign doctor [DIR]  (default: this directory)',
    options: {
      'add-programs': 'let commands use the programs on your PATH that isolation hides (runner.json)',
      json: '{"ok", "checks": [{"name", "state": "ok|warning|missing", "says", "remedy"?}], …}, in English',
      server,
      lang,
    },
    end: 'Ends with 1 when something that is needed is missing.',
  },
  history: {
    about: 'what was called, decided and done, newest first',
    usage: 'countersign history [OPTIONS]',
    options: {
      tool: 'NAME  one tool',
      status: `STATUS  ${executionStatuses.join(', ')}`,
      risk: 'LEVEL  LOW, MEDIUM or HIGH',
      project: 'ID  one project',
      session: 'ID  one conversation',
      run: 'ID  one run of the agent',
      since: 'TIME  2026-11-15, 2026-11-15T08:00:00Z, or ago: 30m, 12h, 7d',
      until: 'TIME  the same',
      limit: 'N  how many (default 50, at most 200)',
      cursor: 'CURSOR  go on where the last page ended',
      json: 'one JSON line for each call; with more to come, a last line {"next_cursor"}',
      server,
      lang,
    },
  },
  mcp: {
    about: 'your tools for an MCP agent, over standard input and output',
    usage:
      "countersign mcp [DIR]  the tools of DIR's project, or of the folder around it that is one (default: here)",
    notes: `A program that speaks MCP (Claude Code, VS Code, …) starts it. The agent gets a token that can call tools and never
approve; it ends with this program. You approve in the web page, in "countersign up", in your editor or in Emacs.
A server must be running: countersign up DIR`,
    options: {
      name: 'NAME  how the agent is called on the approvals you get (default: MCP agent)',
      project: 'ID  the tools of this project instead, wherever its workspace is',
      server: 'URL  which server (default: that of "countersign up DIR", or the last one you signed in to)',
      lang,
    },
    end: 'Programs may set COUNTERSIGN_URL and COUNTERSIGN_TOKEN instead, with a token of "countersign tokens new".',
  },
  open: {
    about: 'what a background job of the agent serves, in your browser',
    usage: `countersign open  the ports on which background jobs listen
countersign open PORT  forwards one to your browser, until Ctrl-C`,
    options: {
      workspace: 'DIR  the workspace (default: this directory)',
      job: 'ID  which job, when several conversations use the same port',
      'no-open': 'print the address and open no browser',
      'end-with-input': 'end when standard input ends, for programs',
      json: '{"ports": [{"port", "job_id", "session_id", "command"}]}; with PORT its "address" too',
      lang,
    },
    end: 'It listens on 127.0.0.1 alone, and speaks HTTP.',
  },
  policy: {
    about: 'your own rules, and what would be decided about tool calls. Nothing is executed.',
    usage: `countersign policy allow|ask|deny [PATTERN] [--path GLOB] [--tool TOOL] [--max-risk HIGH] [--why TEXT] [--id ID]
    countersign policy allow npm run test '*'
    countersign policy allow --path 'docs/**'
    countersign policy deny git push '*'
    shows what the rule would have decided on your recorded calls, and asks before it saves; --yes saves at once,
    --dry-run never; --server URL names the server that has the history

countersign policy import claude|codex|gemini|opencode|vscode [FILE] [--workspace DIR] [--json] [--all-exact]
    what you allowed and denied in another agent, as rules here: exact, narrower or impossible, and what each would have
    decided; you tick what is saved. Without FILE, from the usual places and the project in DIR. --all-exact saves
    what is exact or only makes stricter; --json prints one rule a line, and saves nothing without --all-exact

countersign policy list, countersign policy remove ID
countersign policy edit [--yes]  opens the file in $EDITOR, and keeps it only if it is valid
    the file is policy.json in your configuration folder (~/.config/countersign); every runner here obeys it

countersign policy explain [OPTIONS] TOOL [NAME=VALUE …]
    countersign policy explain write_file path=README.md content=hello
    countersign policy explain run npm install express
    countersign policy explain shell_exec command='rm -rf build'
    countersign policy explain read_file '{"path": "src/index.ts"}'

countersign policy check [OPTIONS] < calls.jsonl
    reads one call a line, {"id"?, "tool", "args"}, and prints one decision a line,
    {"id", "decision": "LOW|MEDIUM|HIGH|REJECT", "code"?, "reasons": [{"rule", "why"}]}

countersign policy try [OPTIONS]
    type calls in the form of explain, one a line

countersign policy backtest FILE [--since TIME] [--server URL] [--json]
    what a new rule, or each rule of a policy file, would have decided on your recorded calls; nothing is saved`,
    options: {
      workspace: 'DIR  the workspace the call is made in (default: this directory)',
      policy: 'FILE  apply this policy file as your own (default: none)',
      json: 'explain: print the decision as JSON',
      lang,
    },
  },
  'sign-in': {
    about: "lets this machine's terminal speak for you",
    usage: `countersign sign-in  asks for the sign-in link that "countersign serve" printed, or "countersign serve --link"
countersign sign-in LINK  the same with the link as a word; it is good once, for 60 s
countersign sign-in < FILE  with a token of your issuer, where the server prints no link; with --server
countersign sign-out  forgets the token and revokes it on the server`,
    options: {
      server: 'URL  the server, when what you paste is a bare code or a token',
      json: 'print the result as JSON',
      lang: `LANG  ${languageCodes('or')} (default: LANG of the environment)`,
    },
    end: `The token is kept in countersign/credentials.json of your configuration folder, for you alone (0600). Programs set
COUNTERSIGN_URL and COUNTERSIGN_TOKEN instead. A token never stands on a command line or in an address.`,
  },
  tokens: {
    about: 'what other programs use to reach your tools',
    usage: `countersign tokens new NAME  makes a token for an agent, such as "Claude Code"; it is printed once
countersign tokens list  all tokens that work: who has them, for what, when they were used
countersign tokens revoke ID  ends one at once; the first letters of its id will do`,
    notes: "An agent's token can call tools, read and cancel its own calls. It can never approve anything.",
    options: {
      workspace:
        'DIR  new: only for the project of this folder (default: all your projects; with several, an agent needs it)',
      project: "ID  new: the same, by the project's id",
      days: 'N  new: how long it works (default 90, at most 366)',
      all: 'list: also those that have ended',
      json: 'print JSON',
      server,
      lang,
    },
  },
  tools: {
    about: 'your own tools, as MCP servers',
    usage: `countersign tools list  which servers there are, their tools, and why one failed
countersign tools allow NAME  lets a server of the workspace run on this machine, once you have seen what it runs
countersign tools forbid NAME  takes that back
countersign tools new NAME  makes a tool of your own, in TypeScript, that runs`,
    notes: `Servers stand in "mcpServers" of your own mcp.json (in Countersign's configuration folder) and of the workspace's
.mcp.json. Yours start by themselves; a workspace's, and one that runs a program of the workspace, only once you
allowed it, and again when it changes. Each runs isolated: no network unless you grant it, no home, secrets masked.`,
    options: {
      workspace: 'DIR  which workspace (default: this directory)',
      digest: 'DIGEST  allow: what was looked at, where there is no terminal to ask',
      in: 'DIR  new: where to make it (default: ./NAME)',
      add: 'new: add it to your mcp.json as well',
      json: 'for programs',
      lang,
    },
  },
  try: {
    about: 'runs a command in a layer and shows what it would change; it lands when you say so',
    usage: `countersign try [--json] [--land] -- COMMAND ARGS…  a program and its arguments
countersign try -- 'SHELL LINE'  one argument is a bash line`,
    notes: `It needs no agent and no server. The command sees this folder, and what it writes goes beside it. It has no network, and
secrets such as .env are covered. When it has ended by itself, you see its effects, deletions first, and land or drop them.
What would execute later (.git/hooks, .vscode, .envrc, …) and what others changed meanwhile does not land: it is kept aside.
What landed can be taken back: countersign undo --last. Without a terminal, nothing lands unless --land says so.`,
    options: {
      land: 'land the effects at once, without asking',
      timeout: 'SEC  stop the command after so many seconds (default 30)',
      'max-mib': 'N  stop it when it has written more than N MiB in the folder (default 1024)',
      'max-files': 'N  stop it when it has written more than N files (default 100000)',
      json: '{"exit_code", "duration_ms", "effects", "withheld", "conflicts", "landed"}; the output goes to standard error',
      lang,
    },
    end: `Exit status: the command's own. 1 when it was 0 and something could not land, 2 when it could not be tried, 124 when a limit
stopped it, 128 + N when signal N ended it, 130 after Ctrl-C.`,
  },
  undo: {
    about: 'restores what a call changed',
    usage: `countersign undo TOOL_ID  one call; "countersign history" shows the ids
countersign undo --last  the newest call in this folder that changed something, of an agent or of "countersign try"
countersign undo --run RUN_ID  every call of a run, the newest first`,
    notes: `A file that was changed since is left alone, unless --force says otherwise. What an undo replaces is kept for 30
days: "countersign undo --offline UNDO_ID" takes the undo back.`,
    options: {
      force: 'restore also where the file was changed after the call',
      timeout: 'SEC  how long to wait for the runner (default 30)',
      last: 'the newest call in the workspace that can be undone; it needs no server',
      offline: "without a server, from this machine's journal",
      workspace: 'DIR  last, offline: which workspace (default: this directory)',
      json: 'one JSON line for each call: {"tool_id", "undo_id", "status", "error"}',
      server,
      lang,
    },
    end: 'Ends with 1 when something could not be undone.',
  },
  up: {
    about: 'server, runner and web page in one command',
    usage: `countersign up  in a sample workspace, to try it
countersign up DIR  in your own`,
    notes: `It listens on this machine only, prints a sign-in link and opens it in your browser. What you approve there is executed
here, in DIR. Everything is kept in your state folder, apart for each workspace. Without a model's key you type the tool
calls yourself; COUNTERSIGN_MODEL=anthropic:… or openai:… with a key gives you an agent (countersign serve --help has
every setting). Ctrl-C ends everything, a second Ctrl-C at once.`,
    options: {
      'no-open': 'do not open a browser',
      port: 'PORT  this port (default: the one of last time, or a free one)',
      prompt: 'ask for approvals in this terminal too',
      ...runner,
      json: 'print one line with the address when it is ready, and nothing else',
      lang,
    },
  },
} satisfies Record<string, CommandHelp>;
