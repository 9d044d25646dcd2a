import { describeIssues, type PolicyFile, policyFileSchema } from '@countersign/protocol';
import { useId, useState } from 'react';
import { Button } from '../frame/button.tsx';
import { QueryState } from '../frame/states.tsx';
import { usePolicy, useRemovingRule, useSavingPolicy } from '../queries/permissions.ts';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';

/** The person's own policy (RK-5): a list of its rules, and an editor of its JSON. */
export function PolicyPanel() {
  const { permissions } = useWords();
  const policy = usePolicy();
  const saving = useSavingPolicy();
  const [isEditing, setEditing] = useState(false);
  return (
    <section className="panel" aria-labelledby="policy-title">
      <h2 id="policy-title">{permissions.policy}</h2>
      <p className="muted">{permissions.policyHint}</p>
      <QueryState query={policy} />
      {policy.data && !isEditing && (
        <>
          <RuleList policy={policy.data} />
          <div className="buttons">
            <Button onClick={() => setEditing(true)}>{permissions.edit}</Button>
          </div>
          {saving.isSuccess && <p role="status">{permissions.saved}</p>}
        </>
      )}
      {policy.data && isEditing && (
        <PolicyEditor
          policy={policy.data}
          problem={saving.error?.message ?? null}
          isSaving={saving.isPending}
          onCancel={() => setEditing(false)}
          onSave={(edited) => saving.mutate(edited, { onSuccess: () => setEditing(false) })}
        />
      )}
    </section>
  );
}

function RuleList({ policy }: { readonly policy: PolicyFile }) {
  const { permissions, said } = useWords();
  const removing = useRemovingRule();
  if (policy.rules.length === 0) return <p className="empty-line">{permissions.noRules}</p>;
  return (
    <ul className="rows">
      {policy.rules.map((rule) => (
        <li key={rule.id} className="row">
          <div className="row-main">
            <p>
              <span className={`effect effect-${rule.effect}`}>{permissions.effects[rule.effect]}</span>{' '}
              <Visible as="code" className="tool-name" text={rule.tool} />{' '}
              <Visible as="code" text={rule.path ?? rule.command ?? permissions.allCalls} />
              {rule.max_risk && (
                <span className="muted">
                  {' '}
                  {permissions.upTo} {rule.max_risk}
                </span>
              )}
              {rule.harmless_only && <span className="muted"> · {permissions.harmlessOnly}</span>}
            </p>
            <p className="muted">
              {rule.why !== undefined && <Visible text={said(rule.why)} />} <code>{rule.id}</code>
            </p>
          </div>
          {/* A rule that allows calls was made with one click, so one click removes it. */}
          {rule.effect === 'allow' && (
            <Button
              disabled={removing.isPending}
              aria-label={`${permissions.revoke}: ${rule.tool} ${rule.path ?? rule.command ?? ''}`}
              onClick={() => removing.mutate(rule.id)}
            >
              {permissions.revoke}
            </Button>
          )}
          {removing.isError && removing.variables === rule.id && (
            <Visible as="p" className="field-problem" role="alert" text={said(removing.error)} />
          )}
        </li>
      ))}
    </ul>
  );
}

interface PolicyEditorProps {
  readonly policy: PolicyFile;
  /** The server's error message. */
  readonly problem: string | null;
  readonly isSaving: boolean;
  onCancel(): void;
  onSave(policy: PolicyFile): void;
}

function PolicyEditor({ policy, problem, isSaving, onCancel, onSave }: PolicyEditorProps) {
  const { permissions, said } = useWords();
  const id = useId();
  const [text, setText] = useState(() => JSON.stringify(policy, null, 2));
  const parsed = parsePolicy(text);
  const wrong = parsed.ok ? problem && said(problem) : parsed.problem;
  return (
    <form
      className="json-editor"
      onSubmit={(event) => {
        event.preventDefault();
        if (parsed.ok) onSave(parsed.policy);
      }}
    >
      <label htmlFor={id}>{permissions.json}</label>
      <textarea
        id={id}
        className="code-field"
        rows={Math.min(28, text.split('\n').length + 1)}
        spellCheck={false}
        value={text}
        aria-invalid={!parsed.ok}
        onChange={(event) => setText(event.target.value)}
      />
      {wrong !== null && (
        <p className="field-problem" role="alert">
          {permissions.invalid} <Visible text={wrong} />
        </p>
      )}
      <div className="buttons">
        <Button type="submit" look="primary" disabled={!parsed.ok || isSaving}>
          {permissions.save}
        </Button>
        <Button onClick={onCancel}>{permissions.cancel}</Button>
      </div>
    </form>
  );
}

/** Validates with the server's schema, so most mistakes show while typing. */
function parsePolicy(text: string): { ok: true; policy: PolicyFile } | { ok: false; problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : String(error) };
  }
  const parsed = policyFileSchema.safeParse(value);
  return parsed.success
    ? { ok: true, policy: parsed.data }
    : { ok: false, problem: describeIssues(parsed.error) };
}
