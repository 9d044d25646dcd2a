import { isFinal } from '@countersign/protocol';
import type { ChatCall } from '../live/conversation.ts';
import { useExecution } from '../queries/executions.ts';
import { JsonView, TextBlock } from '../text/json-view.tsx';
import { ResultView } from '../text/result-view.tsx';
import { useWords } from '../words/words.ts';

/** Parameters and result of one call. Fetches what the page does not have when the person opens it. */
export function CallDetails({ call }: { readonly call: ChatCall }) {
  const words = useWords();
  const isMissing = call.result === undefined && isFinal(call.status);
  const fetched = useExecution(isMissing ? call.toolId : null);
  const result = call.result ?? fetched.data?.result;
  return (
    <div className="call-details">
      <p className="label">{words.call.parameters}</p>
      <JsonView value={fetched.data?.execution.tool_params ?? call.params} />
      {call.output !== '' && result === undefined && (
        <>
          <p className="label">{words.call.output}</p>
          <TextBlock text={call.output} />
        </>
      )}
      {isMissing && fetched.isPending && <p className="muted">{words.states.loading}</p>}
      {result !== undefined && result !== null && <ResultView result={result} />}
    </div>
  );
}
