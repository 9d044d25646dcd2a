import { CommandLine } from '../frame/states.tsx';
import { useProjects, useRunners } from '../queries/workspace.ts';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';

interface RunnerBannerProps {
  readonly projectId: string;
  /** Replaces the advice to run a command. */
  readonly advice?: React.ReactNode;
}

/** Says that no runner is connected, and shows the command that starts one (EX-10). */
export function RunnerBanner({ projectId, advice }: RunnerBannerProps) {
  const { runners: names } = useWords();
  const runners = useRunners();
  const projects = useProjects();
  if (!runners.data || runners.data.some((one) => one.project_id === projectId && one.connected)) return null;
  const workspace = projects.data?.find((one) => one.project_id === projectId)?.workspace ?? null;
  return (
    <div className="banner caution-banner" role="status">
      {advice || (
        <>
          <div>
            <strong>{names.none}.</strong> {names.noneHint}
          </div>
          {workspace !== null && <Visible as="p" className="muted" text={names.noneFor(workspace)} />}
          <CommandLine text={connectCommand(workspace)} />
        </>
      )}
    </div>
  );
}

/** The command that connects a runner. The folder is quoted, because its name may contain any character. */
const connectCommand = (workspace: string | null): string =>
  `npx countersign connect ${workspace === null ? 'DIR' : shellWord(workspace)}`;

const shellWord = (path: string): string =>
  /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
