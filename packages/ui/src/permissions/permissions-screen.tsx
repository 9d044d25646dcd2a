import { useWords } from '../words/words.ts';
import { BacktestPanel } from './backtest-panel.tsx';
import { GrantList } from './grant-list.tsx';
import { PolicyPanel } from './policy-panel.tsx';
import { TokenPanel } from './token-panel.tsx';

/** What runs without asking, and what never does: grants, the person's policy, a way to try a rule first, and who may ask. */
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
