import type { CallResponse } from '@countersign/client';
import { isLiveToken } from '@countersign/protocol';
import { Button } from '../frame/button.tsx';
import { QueryState } from '../frame/states.tsx';
import { useRevokingToken, useTokens } from '../queries/permissions.ts';
import { useProjects } from '../queries/workspace.ts';
import { shortMoment } from '../text/time-text.ts';
import { Visible } from '../text/visible.tsx';
import { useLanguage, useWords } from '../words/words.ts';
import { NewToken } from './new-token.tsx';

export type Token = CallResponse<'listTokens'>['tokens'][number];

/** Lists the valid tokens and their rights, and revokes them (AP-9). Agents' tokens come first. */
export function TokenPanel() {
  const words = useWords().tokens;
  const tokens = useTokens();
  const projects = useProjects();
  const live = (tokens.data ?? [])
    .filter(isLiveToken)
    .sort((a, b) => Number(a.scope !== 'agent') - Number(b.scope !== 'agent'));
  return (
    <section className="panel" aria-labelledby="tokens-title">
      <h2 id="tokens-title">{words.title}</h2>
      <p className="muted">{words.hint}</p>
      <NewToken projects={projects.data ?? []} />
      <QueryState query={tokens} />
      {tokens.isSuccess && live.length === 0 && <p className="empty-line">{words.none}</p>}
      <ul className="rows">
        {live.map((token) => (
          <TokenRow key={token.token_id} token={token} projects={projects.data ?? []} />
        ))}
      </ul>
    </section>
  );
}

type Project = CallResponse<'listProjects'>['projects'][number];

interface TokenRowProps {
  readonly token: Token;
  readonly projects: readonly Project[];
}

function TokenRow({ token, projects }: TokenRowProps) {
  const words = useWords().tokens;
  const language = useLanguage();
  const revoking = useRevokingToken();
  const { name, scope, project_id, last_used_at, expires_at } = token;
  const project = projects.find((known) => known.project_id === project_id);
  const day = (time: string) => shortMoment(time, language);
  return (
    <li className="row">
      <div className="row-main">
        <Visible as="p" text={name} />
        <p className="muted row-facts">
          <span>{words.scope[scope]}</span>
          {scope === 'agent' && (
            <Visible
              as="span"
              text={project_id === null ? words.allProjects : (project?.name ?? project_id)}
            />
          )}
          <span>{last_used_at === null ? words.neverUsed : `${words.used} ${day(last_used_at)}`}</span>
          <span>{expires_at === null ? words.forever : `${words.until} ${day(expires_at)}`}</span>
        </p>
      </div>
      <Button
        disabled={revoking.isPending}
        aria-label={`${words.revoke}: ${name}`}
        onClick={() => revoking.mutate(token.token_id)}
      >
        {words.revoke}
      </Button>
      {revoking.isError && (
        <Visible as="p" className="field-problem" role="alert" text={revoking.error.message} />
      )}
    </li>
  );
}
