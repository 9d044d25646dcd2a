import type { Approval } from '@countersign/protocol';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';

interface ReasonsProps extends Pick<Approval, 'reasons' | 'network'> {
  /** Where nobody is asked. */
  readonly title?: string;
}

/** Why the person is asked, in plain words, and what triggered it (RK-3). */
export function Reasons({ title, reasons, network }: ReasonsProps) {
  const { risk, said } = useWords();
  return (
    <div className="reasons">
      <p className="label">{title ?? risk.why}</p>
      <ul>
        {reasons.map(({ rule, why, operand }) => (
          <li key={`${rule} ${operand ?? ''} ${why}`}>
            <Visible text={sentence(said({ rule, why }))} />
            {operand !== undefined && (
              <code>
                <Visible text={operand} />
              </code>
            )}
            <span className="rule-id">{rule}</span>
          </li>
        ))}
        {reasons.length === 0 && <li>{risk.noReasons}</li>}
        {network && <li className="caution">{risk.network}</li>}
      </ul>
    </div>
  );
}

const sentence = (text: string): string => {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
};
