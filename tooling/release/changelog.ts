/** Makes the changelog entry of a release from the subjects of its commits. */

export interface Commit {
  readonly id: string;
  /** `part: what and why`. */
  readonly subject: string;
}

/** Parts that users do not notice. */
const internalParts = new Set([
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

/** Groups the commits by the part that their subject names, alphabetically; newest first within a part. */
export function changelogEntry(version: string, date: string, commits: readonly Commit[]): string {
  const parts = new Map<string, string[]>();
  for (const { id, subject } of commits) {
    const [, part = 'other', what = subject] = /^([a-z][\w-]*)(?:, [\w, -]+)?: (.+)$/.exec(subject) ?? [];
    if (internalParts.has(part) || /^merge\b/i.test(subject)) continue;
    parts.set(part, [...(parts.get(part) ?? []), `- ${what} (${id.slice(0, 7)})`]);
  }
  const sections = [...parts].sort(([a], [b]) => a.localeCompare(b));
  const body = sections.flatMap(([part, lines]) => [`### ${part}`, '', ...lines, '']);
  return [`## ${version}, ${date}`, '', ...body].join('\n');
}

/** The text of the page before the first release. */
const nothingYet = 'Nothing has been released yet.';

/** Inserts an entry after the page's introduction, before the earlier entries. */
export function withEntry(changelog: string, entry: string): string {
  const first = changelog.indexOf('\n## ');
  return first === -1
    ? `${changelog.replace(nothingYet, '').trimEnd()}\n\n${entry}`
    : `${changelog.slice(0, first + 1)}${entry}\n${changelog.slice(first + 1)}`;
}
