import type { Notice } from '@countersign/approvals';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';

interface NoticeLineProps {
  readonly notice: Notice | null;
  readonly askedAgain: boolean;
}

/** Why a decision did not count, or why the person is asked again. */
export function NoticeLine({ notice, askedAgain }: NoticeLineProps) {
  const { approval, said } = useWords();
  const explained: Readonly<Record<string, string>> = approval.notices;
  if (notice) {
    const text = explained[notice.code];
    return (
      <div className="notice" role="alert">
        <p>{text ?? <Visible text={said(notice)} />}</p>
        {text !== undefined && notice.code === 'GRANT_NOT_ALLOWED' && (
          <p className="muted">
            <Visible text={said(notice)} />
          </p>
        )}
      </div>
    );
  }
  return askedAgain ? <p className="notice">{approval.askedAgain}</p> : null;
}
