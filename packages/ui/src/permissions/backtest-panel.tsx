import type { CallResponse } from '@countersign/client';
import { describeIssues, type PolicyRule, policyRuleSchema } from '@countersign/protocol';
import { useMutation } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { Button } from '../frame/button.tsx';
import { links } from '../frame/links.ts';
import { useLive } from '../live/live-context.ts';
import { useSavingRule } from '../queries/permissions.ts';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';

const example = JSON.stringify(
  { id: 'tests', effect: 'allow', tool: 'execute_command', command: 'npm test *' },
  null,
  2,
);

/** Tests a rule on the recorded history before it is saved (RK-5). */
export function BacktestPanel() {
  const { permissions, states, said } = useWords();
  const { client } = useLive();
  const id = useId();
  const [text, setText] = useState(example);
  const parsed = parseRule(text);
  const test = useMutation({ mutationFn: (rule: PolicyRule) => client.backtestPolicy({ body: { rule } }) });
  const saving = useSavingRule();
  const problem = parsed.ok ? (test.error?.message ?? null) : parsed.problem;
  return (
    <section className="panel" aria-labelledby="backtest-title">
      <h2 id="backtest-title">{permissions.backtest}</h2>
      <p className="muted">{permissions.backtestHint}</p>
      <form
        className="json-editor"
        onSubmit={(event) => {
          event.preventDefault();
          if (parsed.ok) test.mutate(parsed.rule);
        }}
      >
        <label htmlFor={id}>{permissions.rule}</label>
        <textarea
          id={id}
          className="code-field"
          rows={7}
          spellCheck={false}
          value={text}
          aria-invalid={!parsed.ok}
          onChange={(event) => {
            setText(event.target.value);
            test.reset(); // the result was for the old text
            saving.reset();
          }}
        />
        {problem !== null && (
          <p className="field-problem" role="alert">
            {permissions.invalid} <Visible text={said(problem)} />
          </p>
        )}
        <div className="buttons">
          <Button type="submit" disabled={!parsed.ok || test.isPending}>
            {test.isPending ? states.loading : permissions.run}
          </Button>
        </div>
      </form>
      {test.data && (
        <>
          <BacktestOutcome found={test.data} />
          <div className="buttons">
            <Button
              disabled={saving.isPending || test.variables === undefined}
              onClick={() => test.variables && saving.mutate(test.variables)}
            >
              {permissions.saveRule}
            </Button>
          </div>
          {saving.isSuccess && <p role="status">{permissions.saved}</p>}
          {saving.isError && (
            <Visible as="p" className="field-problem" role="alert" text={said(saving.error)} />
          )}
        </>
      )}
    </section>
  );
}

/** What a rule would have decided on the recorded calls. */
export function BacktestOutcome({
  found,
}: {
  readonly found: Omit<CallResponse<'backtestPolicy'>, 'success'>;
}) {
  const { permissions } = useWords();
  return (
    <div role="status" className="backtest-found">
      <p>
        {permissions.result(found.considered, found.matched, found.would_change)}{' '}
        {permissions.resultDecided(found.approved_before, found.rejected_before)}
      </p>
      <ul className="rows">
        {found.examples.map(({ tool_id, description, before, after }) => (
          <li key={tool_id} className="row">
            <div className="row-main">
              <a href={links.call(tool_id)}>
                <Visible text={description} />
              </a>
              <p className="muted">
                {permissions.before}: {before} → {permissions.after}: {after}
              </p>
            </div>
          </li>
        ))}
      </ul>
    </div>
  );
}

function parseRule(text: string): { ok: true; rule: PolicyRule } | { ok: false; problem: string } {
  try {
    const parsed = policyRuleSchema.safeParse(JSON.parse(text));
    return parsed.success
      ? { ok: true, rule: parsed.data }
      : { ok: false, problem: describeIssues(parsed.error) };
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : String(error) };
  }
}
