import { makeVisible } from '@countersign/protocol';
import {
  type AuditFormat,
  type AuditVerdict,
  auditedUsers,
  exportAudit,
  openAuditSource,
  verifyAudit,
} from '@countersign/store';
import { serverWords } from '@countersign/words/server';
import type { ServerWords } from './words.ts';

export interface AuditRequest {
  readonly action: 'verify' | 'export';
  /** A SQLite file or a PostgreSQL URL. */
  readonly database: string;
  /** One person; all people if missing. */
  readonly user?: string | undefined;
  readonly format: AuditFormat;
  /** An audit head that a runner kept (DA-4). The person's chain must contain it. */
  readonly witness?: string | undefined;
  readonly json: boolean;
}

/** `countersign audit`. Returns the exit status: 0 if the log is intact, else 1. */
export async function reportAudit(
  request: AuditRequest,
  write: (text: string) => Promise<void>,
  words: ServerWords = serverWords.en,
): Promise<number> {
  const source = openAuditSource(request.database);
  try {
    const users = request.user === undefined ? auditedUsers(source) : [request.user];
    if (request.action === 'export') {
      for await (const line of exportAudit(source, users, request.format)) await write(line);
      return 0;
    }
    let broken = 0;
    let checked = 0;
    for await (const user of users) {
      const verdict = await verifyAudit(source, user, request.witness);
      await write(request.json ? `${JSON.stringify(verdict)}\n` : `${describe(verdict, words)}\n`);
      checked += 1;
      if (!verdict.ok) broken += 1;
    }
    if (checked === 0 && !request.json) await write(`${words.audit.empty}\n`);
    return broken === 0 ? 0 : 1;
  } finally {
    await source.close();
  }
}

function describe(verdict: AuditVerdict, { audit, said }: ServerWords): string {
  const user = makeVisible(verdict.user_id);
  return verdict.ok
    ? audit.whole(user, verdict.rows, verdict.head)
    : audit.broken(user, verdict.seq, said(verdict.problem));
}
