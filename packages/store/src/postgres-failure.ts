/** What to do about a failure of PostgreSQL, by its code (https://www.postgresql.org/docs/current/errcodes-appendix.html). */

/** Two units were in each other's way; one of them can simply run again. */
export const isConflict = (error: unknown): boolean => ['40001', '40P01'].includes(codeOf(error));

/**
 * A newer server has changed a table, and this connection still has a plan for how it was. Nothing but a connection
 * without that plan helps, and nothing has happened yet.
 */
export const hasOutdatedPlan = (error: unknown): boolean =>
  codeOf(error) === '0A000' && error instanceof Error && error.message.includes('cached plan');

/** The connection is gone or was never there. */
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
 * Of a connection that broke around a commit: the database had given the transaction up for standing still before, or
 * the commit was never sent.
 */
export const wasNotCommitted = (error: unknown): boolean =>
  codeOf(error) === '25P03' || (error instanceof Error && error.message.includes('not queryable'));

const codeOf = (error: unknown): string => String((error as { code?: unknown } | undefined)?.code ?? '');

/** The commit was sent and the connection broke before the answer came: the unit may or may not stand. */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
}
