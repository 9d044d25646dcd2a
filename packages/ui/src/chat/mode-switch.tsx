import { type SessionMode, sessionModes } from '@countersign/protocol';
import { useEffect, useState } from 'react';
import { isDialogOpen } from '../approvals/card-keys.ts';
import { useWords } from '../words/words.ts';

interface ModeSwitchProps {
  readonly mode: SessionMode;
  readonly isBlocked: boolean;
  onChoose(mode: SessionMode): void;
}

/** Shows the mode of the conversation and switches it: as a list, or with Alt+M from anywhere on the screen (AP-11). */
export function ModeSwitch({ mode, isBlocked, onChoose }: ModeSwitchProps) {
  const { approval, conversation } = useWords();
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (!event.altKey || event.ctrlKey || event.metaKey || event.code !== 'KeyM') return;
      event.preventDefault();
      if (event.repeat || isBlocked || isDialogOpen()) return;
      const next = sessionModes[(sessionModes.indexOf(mode) + 1) % sessionModes.length];
      if (next) onChoose(next);
    };
    document.addEventListener('keydown', pressed);
    return () => document.removeEventListener('keydown', pressed);
  }, [mode, isBlocked, onChoose]);
  return (
    <select
      className={`mode mode-${mode}`}
      aria-label={conversation.mode.label}
      aria-keyshortcuts="Alt+M"
      title={`${approval.modes[mode].means} ${conversation.mode.hint}.`}
      value={mode}
      disabled={isBlocked}
      onChange={({ target }) => {
        const chosen = sessionModes.find((one) => one === target.value);
        if (chosen) onChoose(chosen);
      }}
    >
      {sessionModes.map((one) => (
        <option key={one} value={one}>
          {approval.modes[one].name}
        </option>
      ))}
    </select>
  );
}

interface ModeMeaningProps {
  readonly mode: SessionMode;
  /** Number of messages sent. The sentence goes with the next message. */
  readonly sent: number;
}

/** Says in one sentence what the mode means, when it changes. */
export function ModeMeaning({ mode, sent }: ModeMeaningProps) {
  const { approval } = useWords();
  const [known, setKnown] = useState({ mode, sent, isSaid: false });
  if (known.mode !== mode) setKnown({ mode, sent, isSaid: true });
  else if (known.sent !== sent) setKnown({ mode, sent, isSaid: false });
  const { name, means } = approval.modes[mode];
  // Always there: screen readers announce only changes of a region that they know.
  return (
    <p className="mode-meaning" role="status">
      {known.isSaid && (
        <>
          <strong>{name}.</strong> {means}
        </>
      )}
    </p>
  );
}
