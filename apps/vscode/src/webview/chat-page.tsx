import type { Observable } from '@countersign/approvals';
import { type Client, createClient } from '@countersign/client';
import {
  Button,
  CallDetail,
  ChatBar,
  ChatScreen,
  type ComposerInserts,
  ConnectionBanner,
  ErrorBoundary,
  EventSync,
  type HostEditor,
  HostEditorProvider,
  LiveProvider,
  LiveState,
  LoadingState,
  links,
  ProjectPicker,
  readLocation,
  SessionList,
  Shortcuts,
  useObservable,
} from '@countersign/ui';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { Suspense, useEffect, useMemo, useState } from 'react';
import type { EditorChoices, FromPage, PageMention, PagePlace } from '../chat/messages.ts';
import type { Words } from '../words.ts';
import { withEditorChoices } from './editor-choices.ts';
import type { PageLocation } from './page-location.ts';

export interface ChatPageProps {
  readonly place: PagePlace;
  readonly location: PageLocation;
  readonly words: Words;
  readonly device: string;
  readonly fetch: typeof fetch;
  /** Makes a tool call through the extension. All other requests use `fetch`. */
  readonly executeTool: Client['executeTool'];
  /** The chosen project; null until one was chosen. */
  readonly project: Observable<string | null>;
  /** What the person chose in the title of the view. */
  readonly choices: Observable<EditorChoices>;
  /** Changes when the page is to connect at once. */
  readonly retries: Observable<number>;
  readonly inserts: ComposerInserts;
  findMentions(projectId: string, typed: string): Promise<readonly PageMention[]>;
  post(message: FromPage): void;
}

/** The chat in the side bar: signed out, without a folder, or with an open project. */
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
          <Button look="primary" onClick={() => post({ type: 'command', command: 'retryNow' })}>
            {chat.retryNow}
          </Button>
          <SignInButtons {...props} />
        </Welcome>
      );
    case 'open':
      return <OpenChat key={place.server} {...props} place={place} />;
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

/** Says why the editor runs no runner, with a button to change that. */
function RunnerAdvice({
  why,
  words: { chat },
  post,
}: Pick<ChatPageProps, 'words' | 'post'> & { readonly why: 'untrusted' | 'disabled' }) {
  const { title, hint, act } = chat.whyNoRunner[why];
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

type OpenChatProps = ChatPageProps & { readonly place: Extract<PagePlace, { state: 'open' }> };

function OpenChat(props: OpenChatProps) {
  const { place, location, words, device, fetch, executeTool, post } = props;
  const { inserts, findMentions, project: wantedProject, choices, retries } = props;
  const client: Client = useMemo(
    () => ({
      ...withEditorChoices(
        createClient({ baseUrl: '', token: () => 'kept by the extension', device, fetch }),
        choices,
      ),
      executeTool,
    }),
    [device, fetch, executeTool, choices],
  );
  const live = useMemo(() => new LiveState(client, device), [client, device]);
  const queries = useMemo(
    () =>
      new QueryClient({
        defaultOptions: { queries: { staleTime: 30_000, retry: 2, refetchOnWindowFocus: false } },
      }),
    [],
  );
  useEffect(() => live.start(), [live]);
  useEffect(() => retries.subscribe(() => live.retryNow()), [retries, live]);
  useEffect(
    () => choices.subscribe(() => void queries.invalidateQueries({ queryKey: ['model'] })),
    [choices, queries],
  );
  const [isHelpOpen, setHelpOpen] = useState(false);

  const wanted = useObservable(wantedProject, (all) => all);
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
  const projectId = project?.project_id ?? '';
  const hostEditor = useMemo(
    (): HostEditor => ({
      openDiff: (approvalId) => post({ type: 'review', approvalId }),
      insertCode: (text) => post({ type: 'insert-code', text }),
      findMentions: (typed) => findMentions(projectId, typed),
      inserts,
    }),
    [post, findMentions, inserts, projectId],
  );
  const sessionId = at.screen === 'chat' ? at.sessionId : null;
  useEffect(() => {
    if (projectId === '') return;
    // A mode is chosen for one conversation: the next new one asks, until the person chooses again.
    choices.set({ ...choices.get(), mode: 'ask' });
    post({ type: 'at', projectId, sessionId });
  }, [post, choices, projectId, sessionId]);
  if (!project) return <LoadingState />;

  const pick = (picked: string) => {
    wantedProject.set(picked);
    location.go(links.chat());
  };
  return (
    <QueryClientProvider client={queries}>
      <LiveProvider value={live}>
        <HostEditorProvider value={hostEditor}>
          <EventSync />
          <Shortcuts isHelpOpen={isHelpOpen} onHelp={setHelpOpen} />
          <main className="editor-chat">
            <ErrorBoundary key={at.screen}>
              {at.screen === 'history' && at.toolId !== null ? (
                <div className="editor-detail">
                  <CallDetail key={at.toolId} toolId={at.toolId} />
                </div>
              ) : (
                <>
                  {/* Always visible, because calls run in the chosen folder. */}
                  {projects.length > 1 && (
                    <ProjectPicker projects={[...projects]} current={project.project_id} onPick={pick} />
                  )}
                  <ChatBar key={sessionId}>
                    <SessionList projectId={project.project_id} current={sessionId} />
                  </ChatBar>
                  <ConnectionBanner onRetry={() => post({ type: 'command', command: 'retryNow' })}>
                    <Button
                      look="small"
                      onClick={() => post({ type: 'command', command: 'startLocalServer' })}
                    >
                      {words.chat.startServer}
                    </Button>
                  </ConnectionBanner>
                  <Suspense fallback={<LoadingState />}>
                    <ChatScreen
                      projectId={project.project_id}
                      sessionId={sessionId}
                      toolId={at.screen === 'chat' ? at.toolId : null}
                      firstMessage={null}
                      runnerAdvice={
                        project.whyNoRunner && (
                          <RunnerAdvice why={project.whyNoRunner} words={words} post={post} />
                        )
                      }
                      onSession={(begun) => location.go(links.chat(begun ?? undefined))}
                    />
                  </Suspense>
                </>
              )}
            </ErrorBoundary>
          </main>
        </HostEditorProvider>
      </LiveProvider>
    </QueryClientProvider>
  );
}
