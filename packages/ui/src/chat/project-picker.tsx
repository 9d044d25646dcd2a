import type { CallResponse } from '@countersign/client';
import { useId } from 'react';
import { visibleText } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';

type Project = Pick<CallResponse<'listProjects'>['projects'][number], 'project_id' | 'name' | 'workspace'>;

interface ProjectPickerProps {
  readonly projects: readonly Project[];
  readonly current: string;
  onPick(projectId: string): void;
}

/** Chooses the page's project. If there is only one, shows its name. */
export function ProjectPicker({ projects, current, onPick }: ProjectPickerProps) {
  const { nav } = useWords();
  const id = useId();
  const chosen = projects.find(({ project_id }) => project_id === current);
  return (
    <div className="project">
      <label className="label" htmlFor={id}>
        {nav.project}
      </label>
      {projects.length > 1 ? (
        <select id={id} value={current} onChange={(event) => onPick(event.target.value)}>
          {projects.map(({ project_id, name }) => (
            <option key={project_id} value={project_id}>
              {visibleText(name)}
            </option>
          ))}
        </select>
      ) : (
        <output id={id} className="project-name">
          {visibleText(chosen?.name ?? '')}
        </output>
      )}
      {chosen?.workspace != null && (
        <p className="project-path" title={chosen.workspace}>
          <bdi dir="ltr">{visibleText(chosen.workspace)}</bdi>
        </p>
      )}
    </div>
  );
}
