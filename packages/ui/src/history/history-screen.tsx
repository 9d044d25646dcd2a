import { executionStatuses, riskLevels } from '@countersign/protocol';
import { useEffect, useId, useRef, useState } from 'react';
import { Button } from '../frame/button.tsx';
import { EmptyState, ErrorState, LoadingState } from '../frame/states.tsx';
import { useLive } from '../live/live-context.ts';
import { type HistoryFilters, useHistory } from '../queries/executions.ts';
import { useTools } from '../queries/workspace.ts';
import { useWords } from '../words/words.ts';
import { HistoryTable } from './history-table.tsx';

/** How long the person must pause before a search starts. */
const searchRestMs = 300;

/** Every recorded call, newest first, with filters. */
export function HistoryScreen({ projectId }: { readonly projectId: string }) {
  const words = useWords();
  const { history } = words;
  const [filters, setFilters] = useState<HistoryFilters>({});
  const calls = useHistory({ ...filters, project_id: projectId });
  const rows = calls.data?.pages.flatMap(({ executions }) => executions) ?? [];
  const isFiltered = Object.keys(filters).length > 0;
  return (
    <section className="screen" aria-labelledby="history-title">
      <header className="screen-head">
        <h1 id="history-title">{history.title}</h1>
      </header>
      <Filters projectId={projectId} filters={filters} onChange={setFilters} />
      {calls.isPending && <LoadingState />}
      {calls.isError && rows.length === 0 && (
        <ErrorState error={calls.error} onRetry={() => void calls.refetch()} />
      )}
      {calls.isSuccess && rows.length === 0 && (
        <EmptyState title={isFiltered ? history.emptyFiltered : history.empty} hint={history.emptyHint} />
      )}
      {rows.length > 0 && <HistoryTable executions={rows} />}
      {calls.hasNextPage && (
        <Button look="more" disabled={calls.isFetchingNextPage} onClick={() => void calls.fetchNextPage()}>
          {calls.isFetchingNextPage ? words.states.loading : words.states.more}
        </Button>
      )}
    </section>
  );
}

interface FiltersProps {
  readonly projectId: string;
  readonly filters: HistoryFilters;
  onChange(filters: HistoryFilters): void;
}

function Filters({ projectId, filters, onChange }: FiltersProps) {
  const { history, calls, risk } = useWords();
  const tools = useTools(projectId);
  const set = (name: keyof HistoryFilters, value: string) => {
    const { [name]: _, ...rest } = filters;
    onChange(value === '' ? rest : ({ ...rest, [name]: value } as HistoryFilters));
  };
  return (
    <form className="filters" aria-label={history.filters} onSubmit={(event) => event.preventDefault()}>
      <Search value={filters.q ?? ''} onChange={(value) => set('q', value)} />
      <Choice
        label={history.tool}
        any={history.anyTool}
        value={filters.tool_name ?? ''}
        options={(tools.data ?? []).map(({ name }) => [name, name])}
        onChange={(value) => set('tool_name', value)}
      />
      <Choice
        label={history.status}
        any={history.anyStatus}
        value={filters.status ?? ''}
        options={executionStatuses.map((status) => [status, calls.state[status]])}
        onChange={(value) => set('status', value)}
      />
      <Choice
        label={history.risk}
        any={history.anyRisk}
        value={filters.risk_level ?? ''}
        options={riskLevels.map((level) => [level, risk[level]])}
        onChange={(value) => set('risk_level', value)}
      />
      <Day label={history.since} value={filters.since} onChange={(value) => set('since', value)} />
      <Day label={history.until} value={filters.until} isEnd onChange={(value) => set('until', value)} />
      <Button look="quiet" onClick={() => onChange({})}>
        {history.reset}
      </Button>
    </form>
  );
}

/** Full-text search over tool, parameters and error. It starts when the person pauses. */
function Search({ value, onChange }: { readonly value: string; onChange(value: string): void }) {
  const { conversation } = useWords();
  const { clock } = useLive();
  const id = useId();
  const [text, setText] = useState(value);
  const [known, setKnown] = useState(value);
  if (known !== value) {
    setKnown(value); // the filters were reset
    if (value !== text.trim()) setText(value);
  }
  const change = useRef(onChange);
  change.current = onChange;
  useEffect(() => {
    if (text.trim() === known) return;
    return clock.after(searchRestMs, () => change.current(text.trim()));
  }, [clock, text, known]);
  return (
    <div className="filter-search">
      <label htmlFor={id}>{conversation.historySearch}</label>
      <input
        id={id}
        type="search"
        maxLength={200}
        placeholder={conversation.historySearchHint}
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
    </div>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly any: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, name: string])[];
  onChange(value: string): void;
}

function Choice({ label, any, value, options, onChange }: ChoiceProps) {
  const id = useId();
  return (
    <div>
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="">{any}</option>
        {options.map(([one, name]) => (
          <option key={one} value={one}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}

interface DayProps {
  readonly label: string;
  readonly value: string | undefined;
  /** Use the end of the day instead of its start. */
  readonly isEnd?: boolean;
  onChange(value: string): void;
}

function Day({ label, value, isEnd = false, onChange }: DayProps) {
  const id = useId();
  return (
    <div>
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type="date"
        value={value === undefined ? '' : localDay(value)}
        onChange={({ target }) =>
          onChange(
            target.value === ''
              ? ''
              : new Date(`${target.value}T${isEnd ? '23:59:59.999' : '00:00'}`).toISOString(),
          )
        }
      />
    </div>
  );
}

/** The local day of a time, as `YYYY-MM-DD` for a date field. */
function localDay(iso: string): string {
  const at = new Date(iso);
  const two = (n: number) => String(n).padStart(2, '0');
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}
