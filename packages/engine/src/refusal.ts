import { describeError, type ErrorCode, type ToolErrorValue } from '@countersign/protocol';

/**
 * A refusal that we expect. It is thrown so that its unit of writing is undone; the route turns it into an HTTP status.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly error: ToolErrorValue;
  /** For a decision that came too late: the decision that stands (AP-2). */
  readonly standing: { readonly status: string; readonly device: string | null } | undefined;

  constructor(
    code: ErrorCode,
    values: Readonly<Record<string, string | number>> = {},
    standing?: { readonly status: string; readonly device: string | null },
  ) {
    const error = describeError(code, values);
    super(error.message);
    this.error = error;
    this.standing = standing;
  }

  get code(): ErrorCode {
    return this.error.code;
  }
}

/** The same for another person's object as for a missing one, so that a caller cannot probe for ids. */
export const notFound = (what: string): Refusal => new Refusal('NOT_FOUND', { what });
