import type { CallResponse } from '@countersign/client';
import { Popover } from '../frame/popover.tsx';
import { CommandLine } from '../frame/states.tsx';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';

/** Shows the current model. For the manual model, or without a key, its popover explains how to set up a model. */
export function ModelChip({ model }: { readonly model: CallResponse<'getModel'> | undefined }) {
  const words = useWords();
  if (!model) return null;
  const { model: name, problem } = model;
  if (name === null) return <p className="caution">{words.model.none}</p>;
  const isManual = name === 'manual';
  const label = (
    <>
      {words.model.inUse}: <Visible as="strong" text={isManual ? words.model.manual : name} />
    </>
  );
  if (!isManual && problem === null) return <p className="model-chip">{label}</p>;
  return (
    <Popover className="model-chip" label={label} isCaution={problem !== null}>
      <h2>{words.model.manualTitle}</h2>
      {problem !== null && (
        <p>
          {words.model.notUsable} <Visible text={words.said(problem)} /> {words.model.useManual}
        </p>
      )}
      <p>{words.model.manualHint}</p>
      <CommandLine
        text={'export ANTHROPIC_API_KEY=…\nexport COUNTERSIGN_MODEL=anthropic:claude-sonnet-4-5'}
      />
      <p>{words.model.local}</p>
      <CommandLine
        text={
          'export COUNTERSIGN_MODEL_URL=http://localhost:11434/v1\nexport COUNTERSIGN_MODEL=openai-compatible:qwen3'
        }
      />
    </Popover>
  );
}
