/** Why a server could not be used, or did not do what it was asked. */
export class ToolServerFailure extends Error {
  /** The end of what it wrote. */
  readonly lastWords: string;
  /** It answered, and said that it could not: nothing is wrong with the server itself. */
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
