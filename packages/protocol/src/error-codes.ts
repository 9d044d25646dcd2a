/**
 * One error of the table below. A code never changes its meaning once released. `message` is a template:
 * `describeError` fills each `{name}`.
 */
interface ErrorDefinition {
  /** The HTTP status of a response with this error (RE-3). */
  readonly status: number;
  readonly remedy: Remedy;
  /** True if the caller itself can fix it, by repeating or changing the call. */
  readonly recoverable: boolean;
  readonly message: string;
}

/** What helps (EX-5): repeat the same call later, change the call, a person must act first, or nothing. */
type Remedy = 'repeat' | 'change' | 'person' | 'none';

const define = (status: number, remedy: Remedy, message: string): ErrorDefinition => ({
  status,
  remedy,
  recoverable: remedy === 'repeat' || remedy === 'change',
  message,
});

export const errorCodes = {
  // Invalid input
  INVALID_PARAMS: define(
    400,
    'change',
    'The parameters of {tool} are not valid: {problem}. Correct them and call again.',
  ),
  UNKNOWN_TOOL: define(404, 'change', 'There is no tool named "{tool}". There are: {known}.'),
  INVALID_BODY: define(
    400,
    'change',
    'The request body is not valid: {problem}. See /openapi.json for its shape.',
  ),
  INVALID_QUERY: define(
    400,
    'change',
    'The query is not valid: {problem}. See /openapi.json for its parameters.',
  ),
  INVALID_JSON: define(400, 'change', 'The input is not valid JSON: {problem}. Send one JSON value.'),
  BODY_TOO_LARGE: define(
    413,
    'change',
    'The request is larger than {limit} bytes. Send less, or send it in parts.',
  ),
  UNSUPPORTED_MEDIA_TYPE: define(
    415,
    'change',
    'This endpoint takes application/json. Set the Content-Type header.',
  ),
  PROJECT_REQUIRED: define(
    400,
    'change',
    'Without a session_id the call needs exactly one project, and you have {count}. Give a session_id, or use a token that is bound to a project (countersign tokens new --workspace DIR).',
  ),

  // Paths and files (VA-1 to VA-3, TL-3, TL-4)
  PATH_INVALID: define(
    400,
    'change',
    '"{path}" is not a usable path: {problem}. Use a plain path relative to the workspace root.',
  ),
  PATH_OUTSIDE_WORKSPACE: define(
    403,
    'change',
    '"{path}" leads outside the workspace. Use a path inside its root.',
  ),
  PATH_SENSITIVE: define(
    403,
    'person',
    '"{path}" is a sensitive file ({kind}) and is not available to tools. Only the person\'s own policy file can name an exception.',
  ),
  PATH_IS_ROOT: define(403, 'change', '"{path}" is the workspace root itself. Name something inside it.'),
  NOT_A_REGULAR_FILE: define(
    400,
    'change',
    '"{path}" is a {kind}, not a regular file. Only regular files can be used here.',
  ),
  IS_A_DIRECTORY: define(400, 'change', '"{path}" is a directory. Name a file, or use list_directory.'),
  NOT_A_DIRECTORY: define(400, 'change', '"{path}" is not a directory. Name a directory.'),
  FILE_NOT_FOUND: define(
    404,
    'change',
    '"{path}" does not exist in the workspace. Look with list_directory or search_files.',
  ),
  WORKSPACE_GONE: define(
    503,
    'person',
    'The workspace folder "{path}" is gone from this machine. Put it back (or mount it again) and repeat the call, or open another folder.',
  ),
  FILE_EXISTS: define(
    409,
    'change',
    '"{path}" exists already. Choose another name, or change the existing file.',
  ),
  EXTENSION_REFUSED: define(
    403,
    'change',
    'Writing "{path}" is refused: {extension} files are executable binaries. Write a text format instead.',
  ),
  BINARY_FILE: define(400, 'change', '"{path}" is a binary file. Only text, PDF and images can be read.'),
  FILE_TOO_LARGE: define(
    413,
    'change',
    '"{path}" has {size} bytes; the limit is {limit}. Work on a smaller file, or on a part of it.',
  ),
  CONTENT_TOO_LARGE: define(
    413,
    'change',
    'The content has {size} bytes; the limit is {limit}. Write it in smaller parts.',
  ),
  ENCODING_UNSUPPORTED: define(
    400,
    'change',
    '"{path}" cannot be read as {encoding}. Leave the encoding out, or name utf-8, utf-16le, utf-16be or latin1.',
  ),
  PATTERN_INVALID: define(
    400,
    'change',
    'The pattern "{pattern}" cannot be used: {problem}. Write a simpler one.',
  ),
  EDIT_NO_MATCH: define(
    409,
    'change',
    'The text to replace does not occur in "{path}". Read the file again and copy it exactly.',
  ),
  EDIT_AMBIGUOUS: define(
    409,
    'change',
    'The text to replace occurs {count} times in "{path}". Add surrounding lines, or set replace_all.',
  ),
  PERMISSION_DENIED: define(
    403,
    'person',
    'The system does not permit access to "{path}". The person must change its permissions.',
  ),
  READ_FAILED: define(500, 'repeat', 'Could not read "{path}": {problem}. Try again.'),
  WRITE_FAILED: define(
    500,
    'repeat',
    'Could not write "{path}": {problem}. The old content is unchanged; try again.',
  ),
  DISK_FULL: define(500, 'person', 'The disk is full; "{path}" is unchanged. Free some space and try again.'),

  // Commands and shell lines (VA-4 to VA-6)
  COMMAND_NOT_ALLOWED: define(403, 'change', 'Command not allowed: {command}. {advice}'),
  ARGUMENT_REFUSED: define(403, 'change', '{program} is refused with {argument}: {problem}.'),
  SHELL_SYNTAX: define(400, 'change', 'The shell line does not parse: {problem}. Correct it and call again.'),
  SHELL_TOO_COMPLEX: define(
    400,
    'change',
    'The shell line is too complex to be judged: {problem}. Split it, or put it into a script that can be read.',
  ),
  SHELL_CATASTROPHE: define(403, 'none', 'Refused outright: {problem}. No approval can allow this.'),
  TIMEOUT_TOO_LONG: define(
    400,
    'change',
    'A timeout of {timeout} s was asked; the limit is {limit} s. Ask for less, or use shell_background.',
  ),
  COMMAND_TOO_LONG: define(
    413,
    'change',
    'The command has {size} characters; the limit is {limit}. Put the data into a file.',
  ),
  COMMAND_TIMEOUT: define(
    500,
    'repeat',
    'The command did not end within {timeout} s and was stopped. Ask for more time (at most {limit} s) or use shell_background.',
  ),
  COMMAND_FAILED: define(500, 'change', '{program} ended with {outcome}. Its output says why.'),
  PROGRAM_HIDDEN: define(
    404,
    'person',
    '{program} is on this machine ({path}), but commands do not see that folder. The person shows it to them: countersign doctor --add-programs does it.',
  ),
  PROGRAM_NOT_FOUND: define(
    404,
    'person',
    '{program} is not installed on this machine. The person must install it.',
  ),
  SPAWN_FAILED: define(500, 'repeat', '{program} could not be started: {problem}. Try again.'),
  JOB_NOT_FOUND: define(
    404,
    'change',
    'There is no background job "{job}" in this session. shell_background returns the job_id to use.',
  ),
  ISOLATION_UNAVAILABLE: define(
    503,
    'person',
    'This machine cannot isolate commands: {problem}. Run countersign doctor to see how to get it.',
  ),

  // Policy files (RK-5)
  DENIED_BY_POLICY: define(403, 'person', 'Denied by the {owner} policy: {why}.'),
  POLICY_INVALID: define(
    400,
    'change',
    'The policy is not valid: {problem}. Nothing was changed; correct it and try again.',
  ),
  IMPORT_UNREADABLE: define(
    400,
    'change',
    '"{file}" cannot be imported: {problem}. Nothing was saved; correct it, or name another file.',
  ),
  IMPORT_NOTHING_FOUND: define(
    404,
    'change',
    'There are no settings of {source} in the usual places and in this project. Name the file.',
  ),
  POLICY_CHANGED: define(
    409,
    'change',
    'Your rules were changed by another program meanwhile. Nothing was saved; look at them and try again.',
  ),

  // Approvals (AP)
  APPROVAL_REJECTED: define(
    403,
    'none',
    'The person rejected this call. Go on without it; do not ask for the same again.',
  ),
  APPROVAL_TIMEOUT: define(409, 'person', 'Approval timeout'), // AP-3 fixes this text
  APPROVAL_STALE: define(
    409,
    'repeat',
    'What was approved has changed since: {problem}. Nothing ran; it needs a new approval.',
  ),
  ALREADY_DECIDED: define(409, 'none', 'This approval was already {decision}. The first decision stands.'),
  PREVIEW_PENDING: define(
    409,
    'repeat',
    'The preview is not there yet, and this call is not approved unseen. Wait until it is shown, then decide. You can reject it now; otherwise it expires by itself.',
  ),
  PREVIEW_FAILED: define(
    500,
    'none',
    'What this call would do could not be shown, so that nobody could approve it: {problem}. Nothing ran.',
  ),
  PREVIEW_CHANGED: define(
    409,
    'change',
    'The preview has changed since it was displayed. Look at the new one and decide again.',
  ),
  PREVIEW_MISMATCH: define(
    400,
    'person',
    'The digest is not that of the preview. Update Countersign on the machine that executes, then call again.',
  ),
  NOT_TRYABLE: define(
    409,
    'none',
    'This call cannot be tried first: {problem}. Decide on it as it is shown.',
  ),
  TRIAL_RUNNING: define(
    409,
    'repeat',
    'This call is being tried already. What it did is shown as soon as it has ended.',
  ),
  TRIAL_NOT_ASKED: define(
    409,
    'none',
    'Nobody asked for a trial of this call now, so its outcome is not shown.',
  ),
  RISK_ROSE: define(
    409,
    'change',
    'The edited call is {risk}, more than the one that was shown. Look at the new preview and approve it.',
  ),
  GRANT_NOT_ALLOWED: define(
    403,
    'change',
    'This approval cannot be widened: {problem}. Approve this one call only.',
  ),
  GRANT_REVOKED: define(
    409,
    'repeat',
    'The grant behind this call was revoked or has expired. Nothing ran; it needs a new approval.',
  ),
  TOO_MANY_PENDING: define(
    429,
    'repeat',
    'There are {limit} approvals pending in this session or from this program. Wait for a decision first.',
  ),
  REJECTED_BEFORE: define(
    403,
    'none',
    'The person has rejected this very call twice. It is not asked again; go on without it.',
  ),

  // Execution (EX)
  ILLEGAL_TRANSITION: define(
    409,
    'none',
    'A call that is {from} cannot become {to}. Read its state with GET /my/tools/{id}.',
  ),
  ALREADY_FINAL: define(409, 'none', 'This call is already {status}. Nothing was changed.'),
  CLAIM_REFUSED: define(409, 'none', 'This call may not start: {problem}. Do not execute it.'),
  RESULT_CONFLICT: define(
    409,
    'none',
    'Another result is stored for this call already. The first one stands.',
  ),
  EXECUTION_CANCELLED: define(409, 'none', 'The call was cancelled.'),
  EXECUTION_FAILED: define(500, 'none', 'The tool failed: {problem}.'),
  CONCURRENCY_LIMIT: define(
    429,
    'repeat',
    'The runner has {limit} calls waiting. Try again when some have ended.',
  ),
  NO_RUNNER: define(
    503,
    'person',
    'No runner is connected for {workspace}. Open it in an editor, or run: countersign connect {workspace}',
  ),
  RUNNER_OUTDATED: define(
    503,
    'person',
    'The runner of {workspace} does not know the rules on paths that your policy has, so it is not given this call. Update Countersign there and start it again.',
  ),
  RUNNER_CONNECTED: define(
    409,
    'person',
    'Another program is connected as the runner {runner}. Stop it, or give this one an id of its own.',
  ),
  RUNNER_TOKEN_BOUND: define(
    403,
    'person',
    'This token does not speak for the runner {runner}: it belongs to another one, or another program has that id. Make a new token of scope runner for it.',
  ),
  RUNNER_LOST: define(
    500,
    'none',
    'The runner was lost while the call ran: outcome unknown, look before repeating.',
  ),
  LAYER_DROPPED: define(
    500,
    'repeat',
    'The runner was lost before the effects of the command landed, so nothing in the workspace changed. If the command used the network, look there before calling it again.',
  ),
  JOURNAL_UNAVAILABLE: define(503, 'person', 'The runner cannot write its journal: {problem}. Nothing ran.'),
  NOT_UNDOABLE: define(409, 'none', 'This call cannot be undone: {problem}.'),
  UNDO_CONFLICT: define(
    409,
    'change',
    'Changed after the call: {path}. Undo would lose that; look first, or force it.',
  ),

  UNDO_UNANSWERED: define(
    503,
    'repeat',
    'The runner of {workspace} was asked to put files back and has not answered yet. Try again: what is back already stays so.',
  ),
  NOT_REWINDABLE: define(
    409,
    'change',
    'The conversation cannot go back to this message. Choose a message of yours or an answer of the agent.',
  ),

  // Git, language servers, custom tools
  NOT_A_REPOSITORY: define(
    400,
    'person',
    'The workspace is not a git repository. The person must make it one first.',
  ),
  REPOSITORY_UNSAFE: define(
    403,
    'person',
    'This repository is not used: {problem}. The person must look at its configuration.',
  ),
  GIT_FAILED: define(500, 'change', 'git failed: {problem}. Look with git_status before going on.'),
  NO_LANGUAGE_SERVER: define(
    404,
    'person',
    'No language server is configured for {language} files. Add one to the configuration, or use search_files.',
  ),
  LANGUAGE_SERVER_FAILED: define(
    500,
    'repeat',
    'The {language} language server failed: {problem}. Try again.',
  ),
  TOOL_SERVER_FAILED: define(
    500,
    'repeat',
    'The tool server "{server}" failed: {problem}. Try again; the person finds more in the log.',
  ),
  TOOL_SERVER_NOT_ALLOWED: define(
    403,
    'person',
    'The tool server "{server}" is not allowed yet. The person must allow its command line first.',
  ),

  // The agent (AG)
  MODEL_NOT_CONFIGURED: define(
    503,
    'person',
    'The model {model} needs {setting}. Set it, or use the built-in manual model.',
  ),
  MODEL_FAILED: define(500, 'repeat', 'The model did not answer: {problem}. Try again.'),
  BUDGET_EXCEEDED: define(
    429,
    'person',
    'This run has used its budget of {budget}. Send another message to go on.',
  ),
  RUN_STOPPED: define(409, 'none', 'You stopped this run.'),
  RUN_ACTIVE: define(409, 'repeat', 'A run is active in this session. Wait for it, or stop it first.'),
  QUEUE_FULL: define(
    429,
    'repeat',
    'There are {limit} messages waiting in this conversation. Remove one, or wait until the agent takes them.',
  ),
  MESSAGE_SENT: define(
    409,
    'none',
    'The agent has taken this message already. Send another one to add to it.',
  ),
  NOT_STARTED: define(409, 'repeat', 'This call was not started: a message was sent to the agent first.'),
  SESSION_READ_ONLY: define(
    403,
    'person',
    'This conversation is read only, and {tool} may change something. Nothing ran; another mode can be chosen for the conversation.',
  ),

  // HTTP
  UNAUTHENTICATED: define(401, 'person', 'No valid token: {problem}. Sign in again.'),
  FORBIDDEN: define(403, 'person', 'This token may not do that: it needs the scope {scope}.'),
  ORIGIN_REFUSED: define(
    403,
    'person',
    'Requests from this host or origin are not accepted. Use the address that the server printed.',
  ),
  NOT_FOUND: define(404, 'none', 'There is no {what} here with that id.'),
  METHOD_NOT_ALLOWED: define(405, 'none', 'This address does not take {method}.'),
  REQUEST_TIMEOUT: define(408, 'repeat', 'The request did not arrive in time. Send it again.'),
  RATE_LIMITED: define(429, 'repeat', 'Too many requests. Try again in {seconds} s.'),
  INTERNAL: define(
    500,
    'repeat',
    'Something failed on our side. It is in the log under request id {request_id}.',
  ),
  // Clients should repeat the request, which is valid, until a person has freed space.
  STORAGE_FULL: define(
    503,
    'repeat',
    'The server cannot save anything: {problem}. Nothing of this request was kept. {remedy}; then it goes on by itself.',
  ),
  UNAVAILABLE: define(503, 'repeat', 'The server is not ready: {problem}. Try again in a moment.'),

  // The terminal
  USAGE: define(400, 'change', '{problem}. Run {help} to see how it is used.'),
  UP_NOT_RUNNING: define(
    503,
    'person',
    'countersign up {workspace} is not running. Start it in a terminal: countersign up {workspace}',
  ),
  WORKSPACE_NOT_FOUND: define(
    404,
    'change',
    'There is no directory "{path}". Name one that exists as the workspace.',
  ),
} as const satisfies Readonly<Record<string, ErrorDefinition>>;

export type ErrorCode = keyof typeof errorCodes;

/** Errors of a decision whose request has changed meanwhile: show the newest version and ask the person again. */
export const lookAgainCodes: ReadonlySet<ErrorCode> = new Set([
  'PREVIEW_CHANGED',
  'PREVIEW_PENDING',
  'RISK_ROSE',
  'APPROVAL_STALE',
  'ALREADY_DECIDED',
]);
