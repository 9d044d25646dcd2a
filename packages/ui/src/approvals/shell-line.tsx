import type { ReadShellPart } from '@countersign/approvals';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';

/** A shell line as it was written: each part on its line, and beside it what it writes and what is known of it. */
export function ShellLine({ parts }: { readonly parts: readonly ReadShellPart[] }) {
  const { preview, said } = useWords();
  return (
    <ol className="shell-line">
      {parts.map(({ operator, text, writes, reasons }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts of a line may repeat
        <li key={index} className="shell-part">
          <pre className="shell-text">
            {operator !== '' && <Visible as="span" className="shell-operator" text={operator} />}
            <Visible text={text} />
          </pre>
          {(writes.length > 0 || reasons.length > 0) && (
            <ul className="shell-readings">
              {writes.map((path) => (
                <li key={path}>
                  <span className="caution">
                    {preview.writes} <Visible as="code" text={path} />
                  </span>
                  {reasons
                    .filter(({ operand }) => operand === path)
                    .map((reason) => (
                      <Visible key={reason.rule} text={`: ${said(reason)}`} />
                    ))}
                </li>
              ))}
              {reasons
                .filter(({ operand = '' }) => !writes.includes(operand))
                .map((reason) => (
                  <li key={`${reason.rule} ${reason.why}`} title={reason.rule}>
                    <Visible text={said(reason)} />
                  </li>
                ))}
            </ul>
          )}
        </li>
      ))}
    </ol>
  );
}
