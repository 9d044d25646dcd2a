import { Button, CommandLine, useWords } from '@countersign/ui';
import { type SubmitEvent, useState } from 'react';

export type SignedOutWhy = 'new' | 'refused' | 'token-refused' | 'unreachable' | 'expired';

interface SignedOutProps {
  readonly why: SignedOutWhy;
  onToken(token: string): Promise<void>;
}

/** Tells the person how to sign in when this browser has no valid token. */
export function SignedOut({ why, onToken }: SignedOutProps) {
  const { signIn } = useWords();
  const problem = {
    new: null,
    refused: signIn.failed,
    'token-refused': signIn.tokenRefused,
    unreachable: signIn.unreachable,
    expired: signIn.expired,
  }[why];
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
        <CommandLine text="npx countersign up [DIR]" />
        <TokenForm onToken={onToken} />
      </div>
    </main>
  );
}

/** Signs in with a pasted token, which never appears in the address or as readable text on the screen (RE-5). */
function TokenForm({ onToken }: Pick<SignedOutProps, 'onToken'>) {
  const { signIn } = useWords();
  const [text, setText] = useState('');
  const [isChecking, setChecking] = useState(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setChecking(true);
    await onToken(text.trim());
    setChecking(false);
  };
  return (
    <form className="token-form" onSubmit={submit}>
      <label className="muted" htmlFor="token">
        {signIn.elsewhere}
      </label>
      <div className="buttons">
        <input
          id="token"
          type="password"
          autoComplete="off"
          placeholder={signIn.token}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <Button type="submit" disabled={text.trim() === '' || isChecking}>
          {signIn.useToken}
        </Button>
      </div>
    </form>
  );
}
