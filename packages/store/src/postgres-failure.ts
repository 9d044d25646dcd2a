/** Classifies failures of PostgreSQL by code (https://www.postgresql.org/docs/current/errcodes-appendix.html). */

/** Two units conflicted: this one can run again. */
export const isConflict = (error: unknown): boolean => ['40001', '40P01'].includes(codeOf(error));

/** A newer server changed a table: cached plans fail before writing. Only a new connection helps. */
export const hasOutdatedPlan = (error: unknown): boolean =>
  codeOf(error) === '0A000' && error instanceof Error && error.message.includes('cached plan');

/** The connection broke or could not be made. */
export function isConnectionLoss(error: unknown): boolean {
  const code = codeOf(error);
  return (
    code.startsWith('08') ||
    ['57P01', '57P02', '57P03', '57P05', '25P03'].includes(code) ||
    ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOENT', 'EHOSTUNREACH'].includes(code) ||
    (error instanceof Error &&
      /connection (error|terminated|ended)|not queryable|timeout exceeded|read timeout/i.test(error.message))
  );
}

/**
 * For a connection that broke around a commit: whether it was certainly not committed, because the database had ended the
 * idle transaction or the commit was never sent.
 */
export const wasNotCommitted = (error: unknown): boolean =>
  codeOf(error) === '25P03' || (error instanceof Error && error.message.includes('not queryable'));

const codeOf = (error: unknown): string => String((error as { code?: unknown } | undefined)?.code ?? '');

/** The connection broke after the commit was sent: it may or may not have been committed. */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
}
