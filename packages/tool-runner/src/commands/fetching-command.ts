import { isRefused, type PolicyDecision } from '@countersign/policy';
import type { CallContext } from '../executor.ts';
import { planFetch } from '../git/fetch-plan.ts';
import { fetchWithLogin } from '../git/fetch-with-login.ts';
import { hidePasswords } from '../git/remote-address.ts';
import { remoteFolders } from '../network/remote-hosts.ts';
import type { CommandFacts } from '../preview/look.ts';
import type { CommandServices } from '../tool-module.ts';
import { type Command, type CommandResult, runCommand } from './run-command.ts';

// A command that is one plain `git fetch` or `git pull` reaches the remote with the person's login (RN-6).

/** What a command's card says about git and the network. `words` are those of one plain command; undefined for any other line. */
export async function gitFactsOf(
  words: readonly string[] | undefined,
  call: { readonly params: object },
  { verdict, details }: PolicyDecision,
  { git, workspace }: CommandServices,
): Promise<CommandFacts> {
  if (isRefused(verdict) || !verdict.network) return {};
  const plan = git && words && (await planFetch(git, words));
  if (plan) return { fetches: { url: hidePasswords(plan.address.url), refs: plan.sources, base: plan.base } };
  return { repositories: details ? remoteFolders(call, details.commands, workspace) : [] };
}

/** Runs a command. The network part of a fetch is done by the person's own git; the call itself then has no network. */
export async function runPlainCommand(
  words: readonly string[],
  command: Command,
  services: CommandServices,
  context: CallContext,
): Promise<CommandResult> {
  const { git, starter, workspace } = services;
  const plan = context.network && git ? await planFetch(git, words, context.signal) : undefined;
  if (!plan || !git) return runCommand(command, services, context);
  const timeoutSeconds = Math.min(command.timeout, workspace.limits.commandTimeoutMaxSeconds);
  const [program = '', ...args] = words;
  return fetchWithLogin(plan, git, { context, timeoutSeconds, path: starter.path }, (changed) => {
    const confinement = { ...command.request.confinement, network: false, readable: changed.readable };
    const request = { ...command.request, program, args, confinement, environment: changed.environment };
    return runCommand({ ...command, request }, services, context);
  });
}
