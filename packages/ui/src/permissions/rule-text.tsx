import type { PolicyRule } from '@countersign/protocol';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';

/** A rule in two lines: what it does, and why it is there. */
export function RuleText({ rule }: { readonly rule: PolicyRule }) {
  const { permissions, said } = useWords();
  return (
    <>
      <p>
        <span className={`effect effect-${rule.effect}`}>{permissions.effects[rule.effect]}</span>{' '}
        <Visible as="code" className="tool-name" text={rule.tool} />{' '}
        {(rule.path ?? rule.command) === undefined ? (
          <span className="muted">{permissions.allCalls}</span>
        ) : (
          <Visible as="code" text={rule.path ?? rule.command ?? ''} />
        )}
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
    </>
  );
}
