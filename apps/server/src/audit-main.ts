/**
 * `countersign audit` runs this as a process, because apps do not import each other (docs/style.md). The request is in the
 * environment, because a database URL may hold a password and other users can see the arguments of a process.
 */
import { makeVisible, messageOf } from '@countersign/protocol';
import { type AuditRequest, reportAudit } from './audit-report.ts';
import { wordsFor, wordsInLanguage } from './words.ts';

const request = JSON.parse(process.env.COUNTERSIGN_AUDIT_REQUEST ?? '{}') as AuditRequest & {
  readonly lang?: string;
};
const words = (request.lang && wordsInLanguage(request.lang)) || wordsFor(process.env);
const write = (text: string) =>
  new Promise<void>((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
  });
// The reader closed the pipe (`| head`): not an error.
process.stdout.on('error', () => process.exit(0));

try {
  process.exitCode = await reportAudit(request, write, words);
} catch (error) {
  process.stderr.write(`${makeVisible(messageOf(error))}\n`);
  process.exitCode = 3;
}
