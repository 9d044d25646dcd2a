import { outsideArgument } from './general-rules.ts';
import type { Judgement } from './judgement.ts';
import { looksLikeOutsidePath } from './program.ts';

/**
 * Arguments that a script gets: only it knows what they mean. A sensitive file among them is refused all the same
 * (VA-2); what looks like a path outside makes the call HIGH, because `/api/users` may be no path at all.
 */
export function judgeScriptArguments(args: readonly string[], judgement: Judgement): void {
  for (const arg of args) {
    for (const text of possiblePaths(arg)) {
      const checked = judgement.look(text);
      if (checked.ok) continue;
      if (checked.refused.code === 'PATH_SENSITIVE') judgement.refuse(checked.refused);
      else if (looksLikeOutsidePath(text)) judgement.raise(outsideArgument, arg);
    }
  }
}

/** The argument itself, and what follows its first `=` (`--config=x`). */
export function possiblePaths(arg: string): readonly string[] {
  const equals = arg.indexOf('=');
  const value = equals < 0 ? '' : arg.slice(equals + 1);
  const whole = arg.startsWith('-') ? '' : arg;
  return [whole, value].filter((text) => text !== '' && text.length <= 4096);
}
