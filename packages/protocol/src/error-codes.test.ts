import { describe, expect, it } from 'vitest';
import { errorCodes } from './error-codes.ts';

/** Status, remedy and recoverable of each code, as literals: deployed clients depend on them. */
const pinned = {
  INVALID_PARAMS: [400, 'change', true],
  UNKNOWN_TOOL: [404, 'change', true],
  INVALID_BODY: [400, 'change', true],
  INVALID_QUERY: [400, 'change', true],
  INVALID_JSON: [400, 'change', true],
  BODY_TOO_LARGE: [413, 'change', true],
  UNSUPPORTED_MEDIA_TYPE: [415, 'change', true],
  PROJECT_REQUIRED: [400, 'change', true],
  PATH_INVALID: [400, 'change', true],
  PATH_OUTSIDE_WORKSPACE: [403, 'change', true],
  PATH_SENSITIVE: [403, 'person', false],
  PATH_IS_ROOT: [403, 'change', true],
  NOT_A_REGULAR_FILE: [400, 'change', true],
  IS_A_DIRECTORY: [400, 'change', true],
  NOT_A_DIRECTORY: [400, 'change', true],
  FILE_NOT_FOUND: [404, 'change', true],
  WORKSPACE_GONE: [503, 'person', false],
  FILE_EXISTS: [409, 'change', true],
  EXTENSION_REFUSED: [403, 'change', true],
  BINARY_FILE: [400, 'change', true],
  FILE_TOO_LARGE: [413, 'change', true],
  CONTENT_TOO_LARGE: [413, 'change', true],
  ENCODING_UNSUPPORTED: [400, 'change', true],
  PATTERN_INVALID: [400, 'change', true],
  EDIT_NO_MATCH: [409, 'change', true],
  EDIT_AMBIGUOUS: [409, 'change', true],
  PERMISSION_DENIED: [403, 'person', false],
  READ_FAILED: [500, 'repeat', true],
  WRITE_FAILED: [500, 'repeat', true],
  DISK_FULL: [500, 'person', false],
  COMMAND_NOT_ALLOWED: [403, 'change', true],
  ARGUMENT_REFUSED: [403, 'change', true],
  SHELL_SYNTAX: [400, 'change', true],
  SHELL_TOO_COMPLEX: [400, 'change', true],
  SHELL_CATASTROPHE: [403, 'none', false],
  TIMEOUT_TOO_LONG: [400, 'change', true],
  COMMAND_TOO_LONG: [413, 'change', true],
  COMMAND_TIMEOUT: [500, 'repeat', true],
  COMMAND_FAILED: [500, 'change', true],
  PROGRAM_HIDDEN: [404, 'person', false],
  PROGRAM_NOT_FOUND: [404, 'person', false],
  SPAWN_FAILED: [500, 'repeat', true],
  JOB_NOT_FOUND: [404, 'change', true],
  ISOLATION_UNAVAILABLE: [503, 'person', false],
  DENIED_BY_POLICY: [403, 'person', false],
  POLICY_INVALID: [400, 'change', true],
  IMPORT_UNREADABLE: [400, 'change', true],
  IMPORT_NOTHING_FOUND: [404, 'change', true],
  POLICY_CHANGED: [409, 'change', true],
  APPROVAL_REJECTED: [403, 'none', false],
  APPROVAL_TIMEOUT: [409, 'person', false],
  APPROVAL_STALE: [409, 'repeat', true],
  ALREADY_DECIDED: [409, 'none', false],
  PREVIEW_PENDING: [409, 'repeat', true],
  PREVIEW_FAILED: [500, 'none', false],
  PREVIEW_CHANGED: [409, 'change', true],
  PREVIEW_MISMATCH: [400, 'person', false],
  NOT_TRYABLE: [409, 'none', false],
  TRIAL_RUNNING: [409, 'repeat', true],
  TRIAL_NOT_ASKED: [409, 'none', false],
  RISK_ROSE: [409, 'change', true],
  GRANT_NOT_ALLOWED: [403, 'change', true],
  GRANT_REVOKED: [409, 'repeat', true],
  TOO_MANY_PENDING: [429, 'repeat', true],
  REJECTED_BEFORE: [403, 'none', false],
  ILLEGAL_TRANSITION: [409, 'none', false],
  ALREADY_FINAL: [409, 'none', false],
  CLAIM_REFUSED: [409, 'none', false],
  RESULT_CONFLICT: [409, 'none', false],
  EXECUTION_CANCELLED: [409, 'none', false],
  EXECUTION_FAILED: [500, 'none', false],
  CONCURRENCY_LIMIT: [429, 'repeat', true],
  NO_RUNNER: [503, 'person', false],
  RUNNER_OUTDATED: [503, 'person', false],
  RUNNER_CONNECTED: [409, 'person', false],
  RUNNER_TOKEN_BOUND: [403, 'person', false],
  RUNNER_LOST: [500, 'none', false],
  LAYER_DROPPED: [500, 'repeat', true],
  JOURNAL_UNAVAILABLE: [503, 'person', false],
  NOT_UNDOABLE: [409, 'none', false],
  UNDO_CONFLICT: [409, 'change', true],
  UNDO_UNANSWERED: [503, 'repeat', true],
  NOT_REWINDABLE: [409, 'change', true],
  NOT_A_REPOSITORY: [400, 'person', false],
  REPOSITORY_UNSAFE: [403, 'person', false],
  GIT_FAILED: [500, 'change', true],
  NO_LANGUAGE_SERVER: [404, 'person', false],
  LANGUAGE_SERVER_FAILED: [500, 'repeat', true],
  TOOL_SERVER_FAILED: [500, 'repeat', true],
  TOOL_SERVER_NOT_ALLOWED: [403, 'person', false],
  MODEL_NOT_CONFIGURED: [503, 'person', false],
  MODEL_FAILED: [500, 'repeat', true],
  BUDGET_EXCEEDED: [429, 'person', false],
  RUN_STOPPED: [409, 'none', false],
  RUN_ACTIVE: [409, 'repeat', true],
  QUEUE_FULL: [429, 'repeat', true],
  MESSAGE_SENT: [409, 'none', false],
  NOT_STARTED: [409, 'repeat', true],
  SESSION_READ_ONLY: [403, 'person', false],
  UNAUTHENTICATED: [401, 'person', false],
  FORBIDDEN: [403, 'person', false],
  ORIGIN_REFUSED: [403, 'person', false],
  NOT_FOUND: [404, 'none', false],
  METHOD_NOT_ALLOWED: [405, 'none', false],
  REQUEST_TIMEOUT: [408, 'repeat', true],
  RATE_LIMITED: [429, 'repeat', true],
  INTERNAL: [500, 'repeat', true],
  STORAGE_FULL: [503, 'repeat', true],
  UNAVAILABLE: [503, 'repeat', true],
  USAGE: [400, 'change', true],
  UP_NOT_RUNNING: [503, 'person', false],
  WORKSPACE_NOT_FOUND: [404, 'change', true],
};

describe('errorCodes', () => {
  it('[RE-3] keeps every code with its status and recoverability', () => {
    const actual = Object.entries(errorCodes).map(([code, { status, remedy, recoverable }]) => [
      code,
      [status, remedy, recoverable],
    ]);
    expect(Object.fromEntries(actual)).toEqual(pinned);
  });

  it('[RE-3] answers only with statuses of the specification, and those that HTTP itself needs', () => {
    const specified = [400, 401, 403, 404, 409, 413, 429, 500];
    const ofHttp = [405, 408, 415, 503];
    const others = Object.entries(errorCodes).filter(
      ([, { status }]) => !specified.includes(status) && !ofHttp.includes(status),
    );
    expect(others).toEqual([]);
  });

  it('[RE-3] says in every message what happened, as a sentence', () => {
    const bare = Object.entries(errorCodes)
      .filter(([, { message }]) => !/[.}]$/.test(message))
      .map(([code]) => code);
    expect(bare).toEqual(['APPROVAL_TIMEOUT']); // its text is fixed by AP-3
  });

  it('keeps the texts that the specification and the founding documents quote', () => {
    expect(errorCodes.APPROVAL_TIMEOUT.message).toBe('Approval timeout'); // [AP-3]
    expect(errorCodes.COMMAND_NOT_ALLOWED.message).toMatch(/^Command not allowed: \{command\}/); // [VA-4]
    expect(errorCodes.RUNNER_LOST.message).toContain('outcome unknown, look before repeating'); // [EX-7]
  });

  it.each([
    'PREVIEW_PENDING',
    'PREVIEW_CHANGED',
    'APPROVAL_STALE',
    'RUNNER_LOST',
    'NO_RUNNER',
    'COMMAND_TIMEOUT',
  ])('has the code %s that the specification names', (code) => {
    expect(errorCodes).toHaveProperty(code);
  });

  it('[EX-5] repeats no call by itself that a person or the model must deal with first', () => {
    const forPersonOrModel = [
      'PERMISSION_DENIED',
      'INVALID_PARAMS',
      'APPROVAL_TIMEOUT',
      'NO_RUNNER',
    ] as const;
    expect(forPersonOrModel.map((code) => errorCodes[code].remedy)).toEqual([
      'person',
      'change',
      'person',
      'person',
    ]);
  });
});
