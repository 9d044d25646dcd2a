import { type ReactNode, useState } from 'react';
import { Button } from '../frame/button.tsx';
import { useWords } from '../words/words.ts';

const shownAtFirst = 100;

/** A list of which the first rows are shown, and the others on demand. */
export function ShortList({ rows }: { readonly rows: readonly ReactNode[] }) {
  const { call } = useWords();
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && rows.length > shownAtFirst;
  return (
    <>
      <ul className="result-list">{isCut ? rows.slice(0, shownAtFirst) : rows}</ul>
      {isCut && (
        <Button look="quiet small" onClick={() => setWhole(true)}>
          {call.showAllRows(rows.length)}
        </Button>
      )}
    </>
  );
}
