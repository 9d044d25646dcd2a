import type { CountersignEvent } from '@countersign/protocol';
import { commands } from 'vscode';

/** What the steps of the walkthrough ask for; each is ticked when the person has done it (package.json). */
type Step = 'hasServer' | 'hasAsked' | 'hasDecided';

export const completeStep = (step: Step): void =>
  void commands.executeCommand('setContext', `countersign.${step}`, true);

/** A message of the person, and a decision that was made here: in the diff, a dialog or the chat's card. */
export function followWalkthrough({ event, data }: CountersignEvent, device: string): void {
  if (event === 'message.created' && data.role === 'user') completeStep('hasAsked');
  if (event !== 'approval.resolved' || data.device !== device) return;
  if (data.status === 'approved' || data.status === 'rejected') completeStep('hasDecided');
}
