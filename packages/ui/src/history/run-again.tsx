import { messageOf } from '@countersign/protocol';
import { useState } from 'react';
import { Button } from '../frame/button.tsx';
import { links } from '../frame/links.ts';
import { useLive } from '../live/live-context.ts';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';

type RunAgainState =
  | { readonly step: 'idle' | 'asking' | 'not-kept' }
  | { readonly step: 'asked'; readonly sessionId: string; readonly toolId: string }
  | { readonly step: 'refused'; readonly problem: string };

/**
 * Repeats an ended call in its conversation (UI-2). The new call is validated, assessed and asked about like any other.
 * Its parameters come from the server, because this page's copy may be masked.
 */
export function RunAgain({ toolId }: { readonly toolId: string }) {
  const { call, history, said } = useWords();
  const { client } = useLive();
  const [again, setAgain] = useState<RunAgainState>({ step: 'idle' });

  const run = async (): Promise<RunAgainState> => {
    const { execution, omitted } = await client.getExecution({ params: { tool_id: toolId } });
    if (omitted?.includes('tool_params')) return { step: 'not-kept' };
    const { tool_name, tool_params, session_id } = execution;
    const made = await client.executeTool({ body: { tool_name, tool_params, session_id } });
    return { step: 'asked', sessionId: made.session_id, toolId: made.tool_id };
  };
  const click = () => {
    setAgain({ step: 'asking' });
    void run()
      .catch((error: unknown): RunAgainState => ({ step: 'refused', problem: messageOf(error) }))
      .then(setAgain);
  };
  return (
    <div className="run-again">
      <Button look="small quiet" title={call.runAgainHint} disabled={again.step === 'asking'} onClick={click}>
        {call.runAgain}
      </Button>
      {again.step === 'asked' && (
        <span role="status">
          <a href={links.chat(again.sessionId, again.toolId)}>{call.runsAgain}</a>
        </span>
      )}
      {again.step === 'not-kept' && <span role="alert">{history.notKept}</span>}
      {again.step === 'refused' && (
        <Visible as="span" role="alert" className="call-error" text={said(again.problem)} />
      )}
    </div>
  );
}
