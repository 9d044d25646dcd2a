import { type ExecutionRow, Refusal } from '@countersign/engine';
import { makeVisible, type PolicyFile } from '@countersign/protocol';
import { approvalWords } from '@countersign/words';
import type { AuthenticatedCaller } from '../../auth/authenticator.ts';
import { isLoopback } from '../../config.ts';
import { backtest } from '../backtest.ts';
import { ownProject } from '../own-rows.ts';
import { setStreamCookie } from '../request-guard.ts';
import type { Handlers } from '../route-types.ts';
import type { ServerParts } from '../server-parts.ts';
import { grantView, isoTime, tokenView } from '../views.ts';

/** Grants, the person's policy, tokens and signing in. */
export function permissionHandlers({ store, engine, config, tokens, signInCodes, bus }: ServerParts) {
  return {
    async listGrants({ caller }) {
      const rows = await store.read((tx) => tx.grantsOf(caller.userId));
      return { success: true, grants: rows.map(grantView) };
    },

    async revokeGrant({ caller, params }) {
      return { success: true, grant: grantView(await engine.modes.revokeGrant(caller, params.grant_id)) };
    },

    async getPolicy({ caller }) {
      return policyView(caller.userId, await engine.policies.policyFile(caller.userId));
    },

    async putPolicy({ caller, body }) {
      const { replaces, ...policy } = body;
      return policyView(caller.userId, await engine.policies.replace(caller.userId, policy, replaces));
    },

    async backtestPolicy({ caller, body }) {
      const file = await engine.policies.policyFile(caller.userId);
      const since = body.since === undefined ? undefined : Date.parse(body.since);
      return {
        success: true,
        ...(await backtest(store, {
          userId: caller.userId,
          file,
          rules: [body.rule, ...(body.further_rules ?? [])],
          since,
        })),
      };
    },

    async listTokens({ caller }) {
      return { success: true, tokens: (await tokens.list(caller.userId)).map(tokenView) };
    },

    async createToken({ caller, body }) {
      const { name, scope, expires_in_seconds: expiresInSeconds, project_id: projectId } = body;
      const problem = scope === 'agent' ? problemOfAgentName(name) : undefined;
      if (problem !== undefined) throw new Refusal('INVALID_BODY', { problem });
      if (projectId !== undefined) {
        if (scope !== 'agent')
          throw new Refusal('INVALID_BODY', { problem: 'project_id: only the token of an agent is bound' });
        await ownProject(store, caller, projectId);
      }
      const { token, row } = await tokens.create(caller.userId, { name, scope, expiresInSeconds, projectId });
      return { success: true, token, details: tokenView(row) };
    },

    async revokeToken({ caller, params }) {
      await tokens.revoke(caller.userId, params.token_id);
      bus.publish({ kind: 'revoked', tokenId: params.token_id }); // listeners in this process are called before this returns
      await withdrawCalls(caller, params.token_id);
      return { success: true };
    },

    async signIn({ body, request, reply }) {
      // Only a loopback server makes sign-in links: several servers could not know that a code was used.
      const userId = isLoopback(config.host) ? signInCodes.redeem(body.code) : undefined;
      if (userId === undefined) {
        throw new Refusal('UNAUTHENTICATED', {
          problem: 'the sign-in code is unknown, used or older than 60 s',
        });
      }
      const expiresInSeconds = config.signInHours * 3600;
      const { token, row } = await tokens.create(userId, {
        name: 'browser',
        scope: 'person',
        expiresInSeconds,
      });
      const cookie = setStreamCookie(await tokens.sign(row, 'stream'), {
        secure: request.protocol === 'https' || request.headers.origin?.startsWith('https:') === true,
        maxAgeSeconds: expiresInSeconds,
      });
      reply.header('set-cookie', cookie);
      return { success: true, token, expires_at: isoTime(row.expires_at ?? row.created_at) };
    },
  } satisfies Partial<Handlers>;

  async function policyView(userId: string, policy: PolicyFile) {
    const file = await engine.policies.fileOf(userId);
    return { success: true as const, policy, ...(file && { file }) };
  }

  /** Cancels the pending calls of a revoked agent, so that the person is not asked about them any more. */
  async function withdrawCalls(caller: AuthenticatedCaller, tokenId: string): Promise<void> {
    const calls = await store.read(function* (tx) {
      if ((yield* tx.get('tokens', tokenId))?.scope !== 'agent') return [];
      const asked: ExecutionRow[] = [];
      for (const { tool_id } of yield* tx.pendingApprovals(caller.userId)) {
        const call = yield* tx.get('tool_executions', tool_id);
        if (call?.requested_by === tokenId) asked.push(call);
      }
      return asked;
    });
    for (const { id } of calls) {
      await engine.dispatcher.cancel(caller, id, 'its token was revoked').catch((error: unknown) => {
        if (!(error instanceof Refusal)) throw error; // it has ended meanwhile
      });
    }
  }
}

/** Names that cards use for other callers and for the person, in every language. An agent must not have them. */
const reservedNames = new Set(
  Object.values(approvalWords)
    .flatMap(({ callers, you }) => [...Object.values(callers), you, 'Countersign'])
    .map((name) => name.toLowerCase()),
);
/** The verb of a card's title in every language, and a colloquial form of the Russian one. */
const verbs = [...Object.values(approvalWords).map(({ wants }) => wants), 'хочут'];
const cardVerb = new RegExp(`(?<!\\p{L})(${verbs.join('|')})(?!\\p{L})`, 'u');

/**
 * Returns why an agent cannot have this name; undefined if it can. Cards begin with the name ("Claude Code wants to change
 * a.ts"), and it may come from a cloned repository's configuration, so it must not imitate another name or the sentence.
 */
export function problemOfAgentName(name: string): string | undefined {
  const plain = name.trim().replaceAll(/\s+/g, ' ').toLowerCase();
  if (plain === '') return 'name: it is empty';
  if (/[\n\t]/.test(name) || makeVisible(name) !== name)
    return 'name: it has characters that hide something or imitate others';
  if (reservedNames.has(plain)) return `name: "${name.trim()}" is somebody else; call it by its program`;
  if (cardVerb.test(plain)) return 'name: it reads as a sentence; call it by its program';
  return undefined;
}
