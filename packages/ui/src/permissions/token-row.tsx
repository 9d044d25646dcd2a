import type { CallResponse } from '@countersign/client';
import { useRevokingToken } from '../queries/tokens.ts';
import { shortMoment } from '../text/moment.ts';
import { Visible } from '../text/visible.tsx';
import { useLanguage, useWords } from '../words/words.ts';
import type { Token } from './token-panel.tsx';

type Project = CallResponse<'listProjects'>['projects'][number];

interface TokenRowProps {
  readonly token: Token;
  readonly projects: readonly Project[];
}

/** One token: owner, scope, last use and expiry, with a button to revoke it. */
export function TokenRow({ token, projects }: TokenRowProps) {
  const words = useWords().tokens;
  const language = useLanguage();
  const revoking = useRevokingToken();
  const { name, scope, project_id, last_used_at, expires_at } = token;
  const project = projects.find((known) => known.project_id === project_id);
  const day = (time: string) => shortMoment(time, language);
  return (
    <li className="row">
      <div className="row-main">
        <p>
          <Visible text={name} />
        </p>
        <p className="muted row-facts">
          <span>{words.scope[scope]}</span>
          {scope === 'agent' && (
            <span>
              <Visible text={project_id === null ? words.allProjects : (project?.name ?? project_id)} />
            </span>
          )}
          <span>{last_used_at === null ? words.neverUsed : `${words.used} ${day(last_used_at)}`}</span>
          <span>{expires_at === null ? words.forever : `${words.until} ${day(expires_at)}`}</span>
        </p>
      </div>
      <button
        type="button"
        className="button"
        disabled={revoking.isPending}
        aria-label={`${words.revoke}: ${name}`}
        onClick={() => revoking.mutate(token.token_id)}
      >
        {words.revoke}
      </button>
      {revoking.isError && (
        <p className="field-problem" role="alert">
          <Visible text={revoking.error.message} />
        </p>
      )}
    </li>
  );
}
