import { CountersignError } from '@countersign/protocol';

/** A language server broke its promise. The same question may be put to a new one if this one `died`. */
export class LanguageServerFailure extends CountersignError {
  readonly died: boolean;

  constructor(language: string, problem: string, { died, cause }: { died: boolean; cause?: unknown }) {
    super('LANGUAGE_SERVER_FAILED', { language, problem }, { cause });
    this.died = died;
  }
}
