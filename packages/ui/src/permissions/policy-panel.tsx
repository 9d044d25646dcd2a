import {
  areSameRules,
  describeIssues,
  messageOf,
  type PolicyFile,
  policyFileSchema,
} from '@countersign/protocol';
import { useId, useState } from 'react';
import { Button } from '../frame/button.tsx';
import { QueryState } from '../frame/states.tsx';
import {
  type KeptPolicy,
  usePolicy,
  useRemovingRule,
  useSavingPolicy,
  useTryingRules,
} from '../queries/permissions.ts';
import { useRunners } from '../queries/workspace.ts';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';
import { BacktestOutcome } from './backtest-panel.tsx';
import { RuleText } from './rule-text.tsx';

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
      {policy.data && <KeptIn kept={policy.data} />}
      {policy.data && !isEditing && (
        <>
          <RuleList policy={policy.data.policy} />
          <div className="buttons">
            <Button onClick={() => setEditing(true)}>{permissions.edit}</Button>
          </div>
          {saving.isSuccess && <p role="status">{permissions.saved}</p>}
        </>
      )}
      {policy.data && isEditing && (
        <PolicyEditor
          policy={policy.data.policy}
          problem={saving.error?.message ?? null}
          isSaving={saving.isPending}
          onCancel={() => setEditing(false)}
          onSave={(edited, replaces) =>
            saving.mutate({ policy: edited, replaces }, { onSuccess: () => setEditing(false) })
          }
        />
      )}
      <MachinePolicies />
    </section>
  );
}

/** Says where the rules are, and so for which machines they count (docs/decisions/0027). */
function KeptIn({ kept: { file } }: { readonly kept: KeptPolicy }) {
  const { permissions, said } = useWords();
  if (!file) return <p className="muted">{permissions.keptAtServer}</p>;
  return (
    <>
      <p className="muted">
        {permissions.keptInFile} <Visible as="code" text={file.path} />
      </p>
      {file.problem !== undefined && (
        <p className="field-problem" role="alert">
          {permissions.fileBroken} <Visible text={said(file.problem)} />
        </p>
      )}
    </>
  );
}

/** The policy files of machines whose runners work for this server. They are changed there, never from here. */
function MachinePolicies() {
  const { permissions, said } = useWords();
  const runners = useRunners();
  const kept = usePolicy().data;
  if (kept?.file) return null;
  const machines = (runners.data ?? []).filter(
    ({ policy }) => policy?.problem ?? policy?.policy?.rules.length,
  );
  if (machines.length === 0) return null;
  return (
    <>
      <h3>{permissions.machines}</h3>
      <p className="muted">{permissions.machinesHint}</p>
      {machines.map(({ runner_id, workspace, policy }) => (
        <div key={`${runner_id} ${workspace}`}>
          <p>
            <Visible as="code" text={workspace} />
          </p>
          {policy?.problem !== undefined && (
            <p className="field-problem" role="alert">
              {permissions.fileBroken} <Visible text={said(policy.problem)} />
            </p>
          )}
          <ul className="rows">
            {policy?.policy?.rules.map((rule) => (
              <li key={rule.id} className="row">
                <div className="row-main">
                  <RuleText rule={rule} />
                </div>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </>
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
            <RuleText rule={rule} />
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
  /** `replaces`: the policy that was edited. */
  onSave(policy: PolicyFile, replaces: PolicyFile): void;
}

function PolicyEditor({ policy, problem, isSaving, onCancel, onSave }: PolicyEditorProps) {
  const { permissions, said } = useWords();
  const id = useId();
  // What another program saves while the person edits must not be lost: the server compares.
  const [replaces] = useState(policy);
  const [text, setText] = useState(() => JSON.stringify(policy, null, 2));
  const trial = useTryingRules();
  const parsed = parsePolicy(text);
  const wrong = parsed.ok ? (trial.error?.message ?? problem) : parsed.problem;
  return (
    <form
      className="json-editor"
      onSubmit={(event) => {
        event.preventDefault();
        if (!parsed.ok) return;
        const added = parsed.policy.rules.filter(
          (rule) => !replaces.rules.some((old) => areSameRules(old, rule)),
        );
        if (trial.data === undefined && added.length > 0) trial.mutate(added);
        else onSave(parsed.policy, replaces);
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
        onChange={(event) => {
          setText(event.target.value);
          trial.reset(); // it was about another text
        }}
      />
      {wrong !== null && (
        <p className="field-problem" role="alert">
          {permissions.invalid} <Visible text={said(wrong)} />
        </p>
      )}
      {trial.data?.map(({ rule, found }) => (
        <div key={rule.id}>
          <p>
            <Visible as="code" text={rule.id} />
          </p>
          <BacktestOutcome found={found} />
        </div>
      ))}
      <div className="buttons">
        <Button type="submit" look="primary" disabled={!parsed.ok || isSaving || trial.isPending}>
          {trial.data === undefined ? permissions.save : permissions.saveNow}
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
    return { ok: false, problem: messageOf(error) };
  }
  const parsed = policyFileSchema.safeParse(value);
  return parsed.success
    ? { ok: true, policy: parsed.data }
    : { ok: false, problem: describeIssues(parsed.error) };
}
