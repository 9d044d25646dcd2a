import { describeError, type ErrorCode, type ToolErrorValue } from '@countersign/protocol';

/**
 * An answer we expect, thrown where a unit of writing must be undone with it: the route turns it into its HTTP
 * status. Not a failure of ours.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly error: ToolErrorValue;
  /** For a decision that came too late: the one that stands (AP-2). */
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

/** Another person's object, or none at all: the same answer, so that nobody learns which. */
export const notFound = (what: string): Refusal => new Refusal('NOT_FOUND', { what });
