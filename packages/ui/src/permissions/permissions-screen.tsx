import { useWords } from '../words/words.ts';
import { BacktestPanel } from './backtest-panel.tsx';
import { GrantList } from './grant-list.tsx';
import { PolicyPanel } from './policy-panel.tsx';
import { TokenPanel } from './token-panel.tsx';

export function PermissionsScreen() {
  const { permissions } = useWords();
  return (
    <section className="screen" aria-labelledby="permissions-title">
      <header className="screen-head">
        <h1 id="permissions-title">{permissions.title}</h1>
      </header>
      <GrantList />
      <PolicyPanel />
      <BacktestPanel />
      <TokenPanel />
    </section>
  );
}
