/** A tool server failed, or returned an error. */
export class ToolServerFailure extends Error {
  /** The end of its standard error. */
  readonly lastWords: string;
  /** True: it returned an error; the server itself works. */
  readonly isAnswer: boolean;

  constructor(
    problem: string,
    {
      lastWords = '',
      isAnswer = false,
      cause,
    }: { lastWords?: string; isAnswer?: boolean; cause?: unknown } = {},
  ) {
    super(problem, { cause });
    this.lastWords = lastWords;
    this.isAnswer = isAnswer;
  }
}
