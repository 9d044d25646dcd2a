import { type Client, createClient } from '@countersign/client';
import {
  Button,
  CallDetail,
  CardsAboveInput,
  ChatBar,
  ChatScreen,
  ConnectionBanner,
  ErrorBoundary,
  EventSync,
  LiveProvider,
  LiveState,
  LoadingState,
  links,
  ProjectPicker,
  readLocation,
  SessionList,
  useObservable,
} from '@countersign/ui';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { Suspense, useEffect, useMemo, useState } from 'react';
import type { FromPage, PagePlace } from '../chat/messages.ts';
import type { Words } from '../words/words.ts';
import type { PageLocation } from './page-location.ts';

export interface ChatPageProps {
  readonly place: PagePlace;
  readonly location: PageLocation;
  readonly words: Words;
  readonly device: string;
  readonly fetch: typeof fetch;
  /** The one request that does not use `fetch`: the extension executes it. */
  readonly executeTool: Client['executeTool'];
  readonly firstProject: string | null;
  onProject(projectId: string): void;
  post(message: FromPage): void;
}

/** The chat beside the code: signed out, without a folder, or talking. */
export function ChatPage(props: ChatPageProps) {
  const { place, words, post } = props;
  const { chat } = words;
  switch (place.state) {
    case 'connecting':
      return <LoadingState />;
    case 'signed-out':
      return (
        <Welcome text={chat.signedOut}>
          <SignInButtons {...props} />
        </Welcome>
      );
    case 'no-folder':
      return (
        <Welcome text={chat.noFolder}>
          <Button look="primary" onClick={() => post({ type: 'command', command: 'openFolder' })}>
            {chat.openFolder}
          </Button>
        </Welcome>
      );
    case 'failed':
      return (
        <Welcome text={chat.failed}>
          <p className="notice" role="alert">
            {place.problem}
          </p>
          <SignInButtons {...props} />
        </Welcome>
      );
    case 'open':
      return <Talking key={place.server} {...props} place={place} />;
  }
}

function SignInButtons({ words: { chat }, post }: Pick<ChatPageProps, 'words' | 'post'>) {
  return (
    <>
      <Button look="primary" onClick={() => post({ type: 'command', command: 'signIn' })}>
        {chat.signIn}
      </Button>
      <Button onClick={() => post({ type: 'command', command: 'startLocalServer' })}>
        {chat.startServer}
      </Button>
    </>
  );
}

/** Says why there is no runner, and what to do in the editor. */
function RunsNot({
  why,
  words: { chat },
  post,
}: Pick<ChatPageProps, 'words' | 'post'> & { readonly why: 'untrusted' | 'disabled' }) {
  const { title, hint, act } = chat.runsNot[why];
  const command = why === 'untrusted' ? 'manageTrust' : 'openRunnerSetting';
  return (
    <>
      <div>
        <strong>{title}</strong> {hint}
      </div>
      <Button onClick={() => post({ type: 'command', command })}>{act}</Button>
    </>
  );
}

function Welcome({ text, children }: { readonly text: string; readonly children: React.ReactNode }) {
  return (
    <main className="editor-welcome">
      <p>{text}</p>
      {children}
    </main>
  );
}

type TalkingProps = ChatPageProps & { readonly place: Extract<PagePlace, { state: 'open' }> };

function Talking(props: TalkingProps) {
  const { place, location, words, device, fetch, executeTool, firstProject, onProject, post } = props;
  const client: Client = useMemo(
    () => ({
      ...createClient({ baseUrl: '', token: () => 'kept by the extension', device, fetch }),
      executeTool,
    }),
    [device, fetch, executeTool],
  );
  const live = useMemo(() => new LiveState(client), [client]);
  const queries = useMemo(
    () =>
      new QueryClient({
        defaultOptions: { queries: { staleTime: 30_000, retry: 2, refetchOnWindowFocus: false } },
      }),
    [],
  );
  useEffect(() => live.start(), [live]);

  const [wanted, setWanted] = useState(firstProject);
  const { projects } = place;
  const project = projects.find(({ project_id }) => project_id === wanted) ?? projects[0];
  const hash = useObservable(location.hash, (all) => all);
  const at = readLocation(hash);
  const isHistory = at.screen === 'history' && at.toolId === null;
  useEffect(() => {
    if (!isHistory) return;
    post({ type: 'command', command: 'showHistory' });
    location.go(links.chat());
  }, [isHistory, location, post]);
  if (!project) return <LoadingState />;

  const sessionId = at.screen === 'chat' ? at.sessionId : null;
  const pick = (projectId: string) => {
    setWanted(projectId);
    onProject(projectId);
    location.go(links.chat());
  };
  return (
    <QueryClientProvider client={queries}>
      <LiveProvider value={live}>
        <CardsAboveInput value={true}>
          <EventSync />
          <main className="editor-chat">
            <ErrorBoundary key={at.screen}>
              {at.screen === 'history' && at.toolId !== null ? (
                <div className="editor-detail">
                  <CallDetail key={at.toolId} toolId={at.toolId} />
                </div>
              ) : (
                <>
                  {/* Always in sight: the folder decides where a call runs. */}
                  {projects.length > 1 && (
                    <ProjectPicker projects={[...projects]} current={project.project_id} onPick={pick} />
                  )}
                  <ChatBar key={sessionId}>
                    <SessionList projectId={project.project_id} current={sessionId} />
                  </ChatBar>
                  <ConnectionBanner />
                  <Suspense fallback={<LoadingState />}>
                    <ChatScreen
                      projectId={project.project_id}
                      sessionId={sessionId}
                      toolId={at.screen === 'chat' ? at.toolId : null}
                      firstMessage={null}
                      runnerAdvice={
                        project.runsNot && <RunsNot why={project.runsNot} words={words} post={post} />
                      }
                      onSession={(begun) => location.go(links.chat(begun))}
                    />
                  </Suspense>
                </>
              )}
            </ErrorBoundary>
          </main>
        </CardsAboveInput>
      </LiveProvider>
    </QueryClientProvider>
  );
}
