import { trialOf } from '@countersign/approvals';
import type { Approval } from '@countersign/protocol';
import { Button } from '../frame/button.tsx';
import { useWords } from '../words/words.ts';
import { useHostEditor } from './host-editor.ts';

/** Opens the editor's own diff of a file change, or of what a tried command changed. In a browser, and for other calls, there is no button. */
export function OpenDiffButton({
  approval,
}: {
  readonly approval: Pick<Approval, 'approval_id' | 'preview'>;
}) {
  const editor = useHostEditor();
  const { approval: words } = useWords();
  const isTried = trialOf(approval)?.files.some(({ diff }) => diff !== undefined);
  if (!editor || !(approval.preview?.kind === 'diff' || isTried)) return null;
  return (
    <Button look="small open-diff" onClick={() => editor.openDiff(approval.approval_id)}>
      {words.openDiff}
    </Button>
  );
}
