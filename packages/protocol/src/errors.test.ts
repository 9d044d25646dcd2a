import { describe, expect, it } from 'vitest';
import { CountersignError, describeError, errorCodeSchema, toolErrorSchema } from './errors.ts';

describe('describeError', () => {
  it('fills the template and says whether the caller can get further', () => {
    expect(describeError('COMMAND_NOT_ALLOWED', { command: 'rm', advice: 'Use delete_file.' })).toEqual({
      code: 'COMMAND_NOT_ALLOWED',
      message: 'Command not allowed: rm. Use delete_file.',
      recoverable: true,
    });
  });

  it('fills every occurrence, and takes numbers', () => {
    expect(describeError('NO_RUNNER', { workspace: 'shop' }).message).toBe(
      'No runner is connected for shop. Open it in an editor, or run: countersign connect shop',
    );
    expect(describeError('RATE_LIMITED', { seconds: 0 }).message).toBe(
      'Too many requests. Try again in 0 s.',
    );
  });

  it('leaves a placeholder without a value readable', () => {
    expect(describeError('FILE_NOT_FOUND').message).toBe(
      '"{path}" does not exist in the workspace. Look with list_directory or search_files.',
    );
  });

  it('inserts a value as text, even if it contains a placeholder', () => {
    const path = '$& $1 {problem} {path}';
    expect(describeError('IS_A_DIRECTORY', { path }).message).toBe(
      `"${path}" is a directory. Name a file, or use list_directory.`,
    );
  });

  it('takes only what was given, nothing that every object has', () => {
    const inherited = Object.create({ path: 'inherited' }) as Record<string, string>;
    expect(describeError('IS_A_DIRECTORY', inherited).message).toContain('"{path}"');
  });

  it('gives a value that its own schema takes', () => {
    const error = describeError('EXECUTION_CANCELLED');
    expect(toolErrorSchema.parse(error)).toEqual(error);
  });
});

describe('CountersignError', () => {
  it('carries code, message and cause', () => {
    const cause = new Error('ENOSPC');
    const error = new CountersignError('DISK_FULL', { path: 'a.txt' }, { cause });
    expect(error).toBeInstanceOf(Error);
    expect([error.name, error.code, error.cause]).toEqual(['CountersignError', 'DISK_FULL', cause]);
    expect(error.message).toBe('The disk is full; "a.txt" is unchanged. Free some space and try again.');
  });

  it('needs neither values nor cause', () => {
    expect(new CountersignError('RUN_STOPPED').message).toBe('You stopped this run.');
  });
});

describe('errorCodeSchema', () => {
  it('refuses a code that is not ours', () => {
    expect(errorCodeSchema.safeParse('toString').success).toBe(false);
  });
});
