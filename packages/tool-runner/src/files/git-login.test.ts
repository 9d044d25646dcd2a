import { expect, it } from 'vitest';
import { holdsLogin, isGitConfig, MAX_GIT_CONFIG_BYTES } from './git-login.ts';

const holds = (text: string): boolean => holdsLogin(Buffer.from(text));

it.each([
  '[remote "origin"]\n\turl = https://me:token@example.com/x.git',
  '[remote "origin"]\n\turl = https://ghp_abc@example.com/x.git',
  '[url "https://oauth2:token@example.com/"]\n\tinsteadOf = git@example.com:',
  '[remote "origin"]\n\turl = "ssh://me:word@example.com/x"',
  '[http "https://example.com/"]\n\textraheader = AUTHORIZATION: basic eDp0',
  '[http] extraHeader=x',
  '[sendemail]\n\tsmtpPass = word',
  '[credential]\n\tpassword = word',
  'x'.repeat(MAX_GIT_CONFIG_BYTES),
])('[VA-2] a git configuration is a credential store with %.60j', (text) => {
  expect(holds(text)).toBe(true);
});

it.each([
  '',
  '[remote "origin"]\n\turl = https://example.com/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*',
  '[remote "origin"]\n\turl = git@example.com:me/x.git',
  '[remote "origin"]\n\turl = ssh://git@example.com/x.git',
  '[user]\n\temail = me@example.com\n\tname = A Token Person',
  '# password = none',
])('is none with %.60j', (text) => {
  expect(holds(text)).toBe(false);
});

it('knows the configurations of repositories, also of nested ones and of submodules', () => {
  const paths = ['.git/config', 'a/.git/config.worktree', '.git/modules/b/c/config', '.GIT/config'];
  const others = ['config', 'git/config', '.git/hooks/config', '.git/config.md', '.github/config'];
  expect([paths.every(isGitConfig), others.some(isGitConfig)]).toEqual([true, false]);
});
