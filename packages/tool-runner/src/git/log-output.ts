import type { ToolSuccess } from '@countersign/protocol';

export type Commit = ToolSuccess<'git_log'>['commits'][number];

/** For `git log -z`: the fields of a commit, each ended by NUL; none of them can hold one. */
export const commitFormat = 'tformat:%H%x00%an%x00%ae%x00%aI%x00%cI%x00%s%x00%b';
const FIELDS = 7;

/** What git prints for a date that it cannot read is no date: then the other one counts, then the epoch. */
const isDate = (text: string): boolean => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)$/.test(text);
const noDate = '1970-01-01T00:00:00Z';

export function parseLog(output: Buffer): Commit[] {
  const fields = output.toString('utf8').split('\0');
  const commits: Commit[] = [];
  for (let i = 0; i + FIELDS < fields.length; i += FIELDS) {
    const [id = '', author = '', email = '', authored = '', committed = '', subject = '', text = ''] =
      fields.slice(i, i + FIELDS);
    const body = text.trimEnd();
    const date = [authored, committed].find(isDate) ?? noDate;
    commits.push({ id, author, email, date, subject, ...(body === '' ? {} : { body }) });
  }
  return commits;
}
