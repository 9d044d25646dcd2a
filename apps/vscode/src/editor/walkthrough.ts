import type { CountersignEvent } from '@countersign/protocol';
import { commands } from 'vscode';

/** The steps of the walkthrough in package.json; each is ticked when the person has done it. */
type Step = 'hasServer' | 'hasAsked' | 'hasDecided';

export const completeStep = (step: Step): void =>
  void commands.executeCommand('setContext', `countersign.${step}`, true);

/** Ticks the steps for a message of the person, and for a decision in this window. */
export function followWalkthrough({ event, data }: CountersignEvent, device: string): void {
  if (event === 'message.created' && data.role === 'user') completeStep('hasAsked');
  if (event !== 'approval.resolved' || data.device !== device) return;
  if (data.status === 'approved' || data.status === 'rejected') completeStep('hasDecided');
}
