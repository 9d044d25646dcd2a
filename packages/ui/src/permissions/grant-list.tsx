import { changingToolsPattern, type Grant, gitCommandsPattern } from '@countersign/protocol';
import { RiskBadge } from '../approvals/risk-badge.tsx';
import { Button } from '../frame/button.tsx';
import { QueryState } from '../frame/states.tsx';
import { useGrants, useRevoking } from '../queries/permissions.ts';
import { moment } from '../text/time-text.ts';
import { Visible } from '../text/visible.tsx';
import { useLanguage, useWords, type Words } from '../words/words.ts';

/** Lists the grants with their uses, and revokes them (AP-4). Grants in force come first. */
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
      <QueryState query={grants} />
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
          {/* Only what was written by a program looks like code. */}
          <Visible
            as={toolsOf(grant, permissions) === grant.tool ? 'code' : 'strong'}
            text={toolsOf(grant, permissions)}
          />{' '}
          {grant.pattern === null ? (
            <span className="muted">{permissions.allCalls}</span>
          ) : (
            <Visible as="code" text={grant.pattern} />
          )}
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
        <Button
          disabled={revoking.isPending}
          aria-label={`${permissions.revoke}: ${toolsOf(grant, permissions)} ${grant.pattern ?? ''}`}
          onClick={() => revoking.mutate(grant.grant_id)}
        >
          {permissions.revoke}
        </Button>
      )}
      {revoking.isError && (
        <Visible as="p" className="field-problem" role="alert" text={said(revoking.error)} />
      )}
    </li>
  );
}
