/** The entry of one release, made from the subjects of its commits. */

export interface Commit {
  readonly id: string;
  /** `part: what and why`. */
  readonly subject: string;
}

/** Parts of a subject that matter only to those who work on it. */
const inward = new Set([
  'bench',
  'check',
  'ci',
  'decisions',
  'docs',
  'e2e',
  'faults',
  'knip',
  'lock',
  'merge',
  'release',
  'runner-kills',
  'test',
  'testing',
  'tests',
  'tooling',
  'tsconfig',
  'vitest',
]);

/** Grouped by the part that the subject names, in the order of the alphabet; the newest first within each. */
export function changelogEntry(version: string, date: string, commits: readonly Commit[]): string {
  const parts = new Map<string, string[]>();
  for (const { id, subject } of commits) {
    const [, part = 'other', what = subject] = /^([a-z][\w-]*)(?:, [\w, -]+)?: (.+)$/.exec(subject) ?? [];
    if (inward.has(part) || /^merge\b/i.test(subject)) continue;
    parts.set(part, [...(parts.get(part) ?? []), `- ${what} (${id.slice(0, 7)})`]);
  }
  const sections = [...parts].sort(([a], [b]) => a.localeCompare(b));
  const body = sections.flatMap(([part, lines]) => [`### ${part}`, '', ...lines, '']);
  return [`## ${version}, ${date}`, '', ...body].join('\n');
}

/** What the page says until the first entry. */
const nothingYet = 'Nothing has been released yet.';

/** Puts an entry in front of those before it, behind the page's own introduction. */
export function withEntry(changelog: string, entry: string): string {
  const first = changelog.indexOf('\n## ');
  return first === -1
    ? `${changelog.replace(nothingYet, '').trimEnd()}\n\n${entry}`
    : `${changelog.slice(0, first + 1)}${entry}\n${changelog.slice(first + 1)}`;
}
