import type { CallResponse } from '@countersign/client';
import { ErrorState, LoadingState } from '../frame/states.tsx';
import { useTokens } from '../queries/tokens.ts';
import { useProjects } from '../queries/workspace.ts';
import { useWords } from '../words/words.ts';
import { NewToken } from './new-token.tsx';
import { TokenRow } from './token-row.tsx';

export type Token = CallResponse<'listTokens'>['tokens'][number];

/** AP-9: who may reach the person's tools, and with which rights. Agents' come first. */
export function TokenPanel() {
  const words = useWords().tokens;
  const tokens = useTokens();
  const projects = useProjects();
  const live = (tokens.data ?? [])
    .filter(isLive)
    .sort((a, b) => Number(a.scope !== 'agent') - Number(b.scope !== 'agent'));
  return (
    <section className="panel" aria-labelledby="tokens-title">
      <h2 id="tokens-title">{words.title}</h2>
      <p className="muted">{words.hint}</p>
      <NewToken projects={projects.data ?? []} />
      {tokens.isPending && <LoadingState />}
      {tokens.isError && <ErrorState error={tokens.error} onRetry={() => void tokens.refetch()} />}
      {tokens.isSuccess && live.length === 0 && <p className="empty-line">{words.none}</p>}
      <ul className="rows">
        {live.map((token) => (
          <TokenRow key={token.token_id} token={token} projects={projects.data ?? []} />
        ))}
      </ul>
    </section>
  );
}

const isLive = ({ revoked_at, expires_at }: Token): boolean =>
  revoked_at === null && (expires_at === null || Date.parse(expires_at) > Date.now());
