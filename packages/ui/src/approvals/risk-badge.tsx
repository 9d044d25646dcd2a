import type { RiskLevel } from '@countersign/protocol';
import { useWords } from '../words/words.ts';

/** The risk by word, shape and colour: a circle, a diamond, an octagon. */
export function RiskBadge({ risk }: { readonly risk: RiskLevel }) {
  const { risk: names } = useWords();
  return (
    <span className={`risk risk-${risk.toLowerCase()}`}>
      <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
        {risk === 'LOW' && <circle cx="8" cy="8" r="6" />}
        {risk === 'MEDIUM' && <path d="M8 1 15 8 8 15 1 8z" />}
        {risk === 'HIGH' && <path d="M5 1h6l4 4v6l-4 4H5l-4-4V5z" />}
      </svg>
      {names[risk]}
    </span>
  );
}
