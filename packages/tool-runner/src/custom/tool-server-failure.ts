/** A tool server failed, or returned an error. */
export class ToolServerFailure extends Error {
  /** The end of the server's standard error. */
  readonly outputTail: string;
  /** True: the server works, and returned an error. */
  readonly isAnswer: boolean;

  constructor(problem: string, options: { outputTail?: string; isAnswer?: boolean; cause?: unknown } = {}) {
    super(problem, { cause: options.cause });
    this.outputTail = options.outputTail ?? '';
    this.isAnswer = options.isAnswer ?? false;
  }
}
