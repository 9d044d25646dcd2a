import { CountersignError, makeVisible } from '@countersign/protocol';
import { hidePasswords } from './remote-address.ts';

const MAX_CHARACTERS = 600;

/** GIT_FAILED with git's message. */
export function gitFailed(stderr: string, exitCode: number | null): CountersignError {
  const said = wordsOfGit(stderr);
  return new CountersignError('GIT_FAILED', { problem: said === '' ? `it ended with ${exitCode}` : said });
}

/** What git said, without prefixes, passwords and hidden characters. */
export function wordsOfGit(stderr: string): string {
  const lines = stderr
    .split('\n')
    .map((line) => line.replace(/^(fatal|error): /, '').trim())
    .filter((line) => line !== '' && !line.startsWith('hint: '));
  return makeVisible(hidePasswords(lines.join('; ')))
    .slice(0, MAX_CHARACTERS)
    .replace(/\.$/, '');
}

/** GIT_FAILED in our own words. */
export const gitCannot = (problem: string): CountersignError =>
  new CountersignError('GIT_FAILED', { problem });
