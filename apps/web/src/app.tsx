import { createClient } from '@countersign/client';
import {
  LanguageProvider,
  LiveProvider,
  LiveState,
  LoadingState,
  languages,
  preferredLanguage,
  useObservable,
  usePreference,
  useTheme,
} from '@countersign/ui';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import {
  deviceName,
  type SignInOutcome,
  signIn,
  signInWithToken,
  signOut,
  type TokenStorage,
} from './sign-in.ts';
import { SignedInPage } from './signed-in-page.tsx';
import { SignedOut, type SignedOutWhy } from './signed-out.tsx';

interface AppProps {
  readonly tokens: TokenStorage;
  /** The one-time sign-in code from the address bar. */
  readonly code: string | null;
}

/** Shows the signed-in page, or the page that explains how to sign in. */
export function App({ tokens, code }: AppProps) {
  const [outcome, setOutcome] = useState<SignInOutcome | null>(null);
  const [ended, setEnded] = useState<SignedOutWhy | null>(null);
  useTheme();
  const [chosen] = usePreference('language');
  const language = chosen ?? preferredLanguage(navigator.languages);
  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);
  useEffect(() => {
    if (code !== null) exchange(code, tokens).then(setOutcome);
  }, [code, tokens]);

  const isSigningIn = code !== null && outcome === null;
  const token = tokens.read();
  return (
    <LanguageProvider value={{ code: language, words: languages[language] }}>
      {isSigningIn ? (
        <LoadingState />
      ) : ended !== null || token === null ? (
        <SignedOut
          why={ended ?? (outcome === null || outcome === 'signed-in' ? 'new' : outcome)}
          onToken={async (pasted) => {
            setOutcome(await signInWithToken(pasted, tokens));
            setEnded(null);
          }}
        />
      ) : (
        <SignedIn
          key={token}
          tokens={tokens}
          onEnd={(why) => {
            tokens.forget();
            setEnded(why);
          }}
        />
      )}
    </LanguageProvider>
  );
}

/** In development, React mounts twice, but a code works only once: both mounts share the exchange. */
const exchanges = new Map<string, Promise<SignInOutcome>>();
function exchange(code: string, tokens: TokenStorage): Promise<SignInOutcome> {
  const running = exchanges.get(code) ?? signIn(code, tokens);
  exchanges.set(code, running);
  return running;
}

interface SignedInProps {
  readonly tokens: TokenStorage;
  onEnd(why: SignedOutWhy): void;
}

function SignedIn({ tokens, onEnd }: SignedInProps) {
  const live = useMemo(() => {
    const device = deviceName(navigator.userAgent);
    return new LiveState(createClient({ baseUrl: '', token: () => tokens.read() ?? '', device }), device);
  }, [tokens]);
  const queries = useMemo(
    () =>
      new QueryClient({
        defaultOptions: { queries: { staleTime: 30_000, retry: 2, refetchOnWindowFocus: false } },
      }),
    [],
  );
  useEffect(() => live.start(), [live]);
  const isUnauthenticated = useObservable(
    live.connection,
    (state) => state.status === 'closed' && state.why === 'unauthenticated',
  );
  useEffect(() => {
    if (isUnauthenticated) onEnd('expired');
  }, [isUnauthenticated, onEnd]);
  return (
    <QueryClientProvider client={queries}>
      <LiveProvider value={live}>
        <SignedInPage onSignOut={() => void signOut(live.client, tokens).then(() => onEnd('new'))} />
      </LiveProvider>
    </QueryClientProvider>
  );
}
