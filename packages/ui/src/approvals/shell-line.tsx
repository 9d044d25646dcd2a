import { type ApprovalRequest, partOfOperand, reasonText, shellParts } from '@countersign/approvals';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';

interface ShellLineProps {
  readonly line: string;
  readonly reasons: ApprovalRequest['reasons'];
}

/** A shell line as it was written, a part on each line, with what is known of the part beside it. */
export function ShellLine({ line, reasons }: ShellLineProps) {
  const { preview, said } = useWords();
  const parts = shellParts(line);
  return (
    <ol className="shell-line">
      {parts.map(({ operator, text, writes }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts of a line may repeat
        <li key={index} className="shell-part">
          <pre className="shell-text">
            {operator !== '' && <Visible as="span" className="shell-operator" text={operator} />}
            <Visible text={text} />
          </pre>
          {writes.map((path) => (
            <span key={path} className="shell-reading caution">
              {preview.writes} <Visible as="code" text={path} />
            </span>
          ))}
          {parts.length > 1 &&
            reasons
              .filter(({ operand }) => partOfOperand(parts, operand) === index)
              .map((reason) => (
                <Visible
                  key={`${reason.rule} ${reason.why}`}
                  as="span"
                  className="shell-reading"
                  text={reasonText(reason, said(reason))}
                />
              ))}
        </li>
      ))}
    </ol>
  );
}
