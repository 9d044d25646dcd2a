import { CommandLine, useWords } from '@countersign/ui';

export type SignedOutWhy = 'new' | 'refused' | 'unreachable' | 'expired';

/** What to do when this browser has no token, or one that no longer counts. */
export function SignedOut({ why }: { readonly why: SignedOutWhy }) {
  const { signIn } = useWords();
  const problem =
    why === 'refused'
      ? signIn.failed
      : why === 'unreachable'
        ? signIn.unreachable
        : why === 'expired'
          ? signIn.expired
          : null;
  return (
    <main className="signed-out">
      <div className="signed-out-box">
        <h1>{signIn.title}</h1>
        {problem !== null && (
          <p className="notice" role="alert">
            {problem}
          </p>
        )}
        <p>{signIn.what}</p>
        <p>{signIn.how}</p>
        <CommandLine text="npx countersign up" />
        <p className="muted">{signIn.local}</p>
      </div>
    </main>
  );
}
