import { CommandLine, EmptyState, useWords } from '@countersign/ui';

/** Signed in, but nothing has ever been connected. */
export function NoProject() {
  const { project } = useWords();
  return (
    <EmptyState title={project.none} hint={project.noneHint}>
      <CommandLine text="npx countersign connect DIR" />
    </EmptyState>
  );
}
