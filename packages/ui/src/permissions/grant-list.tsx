import { changingToolsPattern, type Grant, gitCommandsPattern } from '@countersign/protocol';
import { RiskBadge } from '../approvals/risk-badge.tsx';
import { ErrorState, LoadingState } from '../frame/states.tsx';
import { useGrants, useRevoking } from '../queries/permissions.ts';
import { moment } from '../text/moment.ts';
import { Visible } from '../text/visible.tsx';
import { useLanguage, useWords, type Words } from '../words/words.ts';

/** AP-4: grants can be seen, counted and revoked. Those in force come first. */
export function GrantList() {
  const { permissions } = useWords();
  const grants = useGrants();
  const list = [...(grants.data ?? [])].sort(
    (a, b) => Number(a.revoked_at !== null) - Number(b.revoked_at !== null),
  );
  return (
    <section className="panel" aria-labelledby="grants-title">
      <h2 id="grants-title">{permissions.grants}</h2>
      <p className="muted">{permissions.grantsHint}</p>
      {grants.isPending && <LoadingState />}
      {grants.isError && <ErrorState error={grants.error} onRetry={() => void grants.refetch()} />}
      {grants.isSuccess && list.length === 0 && (
        <p className="empty-line">
          <strong>{permissions.noGrants}.</strong> {permissions.noGrantsHint}
        </p>
      )}
      <ul className="rows">
        {list.map((grant) => (
          <GrantRow key={grant.grant_id} grant={grant} />
        ))}
      </ul>
    </section>
  );
}

/** Which tools a grant covers: one, all, those that change files, or those of git. */
function toolsOf({ tool }: Grant, permissions: Words['permissions']): string {
  if (tool === changingToolsPattern) return permissions.changes;
  if (tool === gitCommandsPattern) return permissions.git;
  return tool === '*' ? permissions.everyTool : tool;
}

function GrantRow({ grant }: { readonly grant: Grant }) {
  const { permissions, said } = useWords();
  const language = useLanguage();
  const revoking = useRevoking();
  const isRevoked = grant.revoked_at !== null;
  return (
    <li className={isRevoked ? 'row row-off' : 'row'}>
      <div className="row-main">
        <p>
          <code className="tool-name">
            <Visible text={toolsOf(grant, permissions)} />
          </code>{' '}
          <code>
            <Visible text={grant.pattern ?? permissions.allCalls} />
          </code>
        </p>
        <p className="muted row-facts">
          <RiskBadge risk={grant.max_risk} />
          <span>{grant.session_id === null ? permissions.everywhere : permissions.inSession}</span>
          <span>{permissions.uses(grant.uses)}</span>
          <span>
            {permissions.since} {moment(grant.created_at, language)}
          </span>
        </p>
      </div>
      {isRevoked ? (
        <span className="muted">{permissions.revoked}</span>
      ) : (
        <button
          type="button"
          className="button"
          disabled={revoking.isPending}
          aria-label={`${permissions.revoke}: ${toolsOf(grant, permissions)} ${grant.pattern ?? ''}`}
          onClick={() => revoking.mutate(grant.grant_id)}
        >
          {permissions.revoke}
        </button>
      )}
      {revoking.isError && (
        <p className="field-problem" role="alert">
          <Visible text={said(revoking.error)} />
        </p>
      )}
    </li>
  );
}
