import type { CallResponse } from '@countersign/client';
import { useId, useState } from 'react';
import { Button } from '../frame/button.tsx';
import { useMakingToken } from '../queries/permissions.ts';
import { CodeBlock } from '../text/code-block.tsx';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';

type Project = CallResponse<'listProjects'>['projects'][number];

/** The same lifetime as `countersign tokens new`. */
const lifetimeSeconds = 90 * 24 * 3600;

/** Makes a token for an agent. The token is shown once, until the person clicks Done. */
export function NewToken({ projects }: { readonly projects: readonly Project[] }) {
  const words = useWords().tokens;
  const making = useMakingToken();
  const [name, setName] = useState('');
  const [projectId, setProjectId] = useState('');
  const id = useId();
  if (making.data) {
    const { token, details } = making.data;
    return (
      <ShownOnce
        token={token}
        name={details.name}
        onDone={() => {
          making.reset();
          setName('');
        }}
      />
    );
  }
  return (
    <form
      className="token-form"
      aria-label={words.make}
      onSubmit={(event) => {
        event.preventDefault();
        making.mutate({
          name: name.trim(),
          scope: 'agent',
          expires_in_seconds: lifetimeSeconds,
          ...(projectId !== '' && { project_id: projectId }),
        });
      }}
    >
      <label htmlFor={`${id}-name`}>
        {words.name}
        <input
          id={`${id}-name`}
          value={name}
          maxLength={100}
          placeholder={words.namePlaceholder}
          onChange={(event) => setName(event.target.value)}
        />
      </label>
      <label htmlFor={`${id}-project`}>
        {words.project}
        <select id={`${id}-project`} value={projectId} onChange={(event) => setProjectId(event.target.value)}>
          <option value="">{words.allProjects}</option>
          {projects.map((project) => (
            <option key={project.project_id} value={project.project_id}>
              {project.name}
            </option>
          ))}
        </select>
      </label>
      <Button type="submit" disabled={name.trim() === '' || making.isPending}>
        {words.makeIt}
      </Button>
      {making.isError && (
        <Visible as="p" className="field-problem" role="alert" text={making.error.message} />
      )}
    </form>
  );
}

interface ShownOnceProps {
  readonly token: string;
  readonly name: string;
  readonly onDone: () => void;
}

function ShownOnce({ token, name, onDone }: ShownOnceProps) {
  const words = useWords().tokens;
  const [copied, setCopied] = useState<boolean | undefined>(undefined);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(token);
      setCopied(true);
    } catch {
      setCopied(false); // no clipboard over plain http, or the browser refuses
    }
  };
  return (
    <div className="token-once" role="status">
      <Visible as="p" text={words.once(name)} />
      <CodeBlock className="token-text">{token}</CodeBlock>
      <div className="buttons">
        <Button onClick={() => void copy()}>{copied === true ? words.copied : words.copy}</Button>
        <Button onClick={onDone}>{words.done}</Button>
      </div>
      {copied === false && <p className="field-problem">{words.notCopied}</p>}
    </div>
  );
}
