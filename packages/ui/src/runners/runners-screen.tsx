import { CommandLine, EmptyState, QueryState } from '../frame/states.tsx';
import { useRunners } from '../queries/workspace.ts';
import { moment } from '../text/time-text.ts';
import { Visible } from '../text/visible.tsx';
import { useLanguage, useWords } from '../words/words.ts';

/** Lists the runners with their folders. If none is connected, shows the command that starts one. */
export function RunnersScreen() {
  const words = useWords();
  const { runners: names } = words;
  const language = useLanguage();
  const runners = useRunners();
  const list = [...(runners.data ?? [])].sort((a, b) => Number(b.connected) - Number(a.connected));
  return (
    <section className="screen" aria-labelledby="runners-title">
      <header className="screen-head">
        <h1 id="runners-title">{names.title}</h1>
        <p className="muted">{names.hint}</p>
      </header>
      <QueryState query={runners} />
      {runners.isSuccess && !list.some(({ connected }) => connected) && (
        <EmptyState title={names.none} hint={names.noneHint}>
          <CommandLine text="npx countersign connect DIR" />
        </EmptyState>
      )}
      <ul className="tiles">
        {list.map((runner) => (
          <li key={runner.runner_id} className="tile">
            <p className={runner.connected ? 'dot dot-on' : 'dot'}>
              {runner.connected ? names.connected : names.disconnected}
            </p>
            <h2>
              <Visible as="code" text={runner.workspace} />
            </h2>
            <dl className="facts">
              {runner.capabilities.length > 0 && (
                <>
                  <dt>{names.capabilities}</dt>
                  <Visible as="dd" text={runner.capabilities.join(', ')} />
                </>
              )}
              <dt>{names.lastSeen}</dt>
              <dd>{moment(runner.last_seen_at, language)}</dd>
              <dt>id</dt>
              <dd>
                <code>{runner.runner_id}</code>
              </dd>
            </dl>
          </li>
        ))}
      </ul>
    </section>
  );
}
