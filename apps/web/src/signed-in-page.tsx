import {
  AppFrame,
  ApprovalAlerts,
  CallDetail,
  ChatBar,
  ChatScreen,
  CommandLine,
  EmptyState,
  ErrorBoundary,
  ErrorState,
  EventSync,
  HistoryScreen,
  Inbox,
  LoadingState,
  type Location,
  links,
  MetricsScreen,
  PermissionsScreen,
  ProjectPicker,
  RunnersScreen,
  readLocation,
  SessionList,
  SettingsMenu,
  Shortcuts,
  useChatHref,
  usePreference,
  useProjects,
  useWords,
} from '@countersign/ui';
import { Suspense, useCallback, useEffect, useMemo, useState, useSyncExternalStore } from 'react';

/** The signed-in page: the frame, and the screen that the address names. */
export function SignedInPage({ onSignOut }: { onSignOut(): void }) {
  const location = useLocation();
  const projects = useProjects();
  const [wanted, setWanted] = usePreference('projectId');
  const [isHelpOpen, setHelpOpen] = useState(false);
  const [firstMessage, setFirstMessage] = useState<string | null>(null);
  const showHelp = useCallback(() => setHelpOpen(true), []);
  useEffect(() => {
    void readFirstMessage().then(setFirstMessage);
  }, []);

  const list = projects.data ?? [];
  const current = (list.find(({ project_id }) => project_id === wanted) ?? list[0])?.project_id;
  const chatHref = useChatHref(current ?? null);
  const sessionId = location.screen === 'chat' ? location.sessionId : null;
  const aside = current !== undefined && (
    <>
      <ProjectPicker
        projects={list}
        current={current}
        onPick={(projectId) => {
          setWanted(projectId);
          window.location.hash = links.chat();
        }}
      />
      <SessionList projectId={current} current={sessionId} />
    </>
  );
  return (
    <>
      <EventSync />
      <ApprovalAlerts />
      <Shortcuts isHelpOpen={isHelpOpen} onHelp={setHelpOpen} />
      <AppFrame
        location={location}
        chatHref={chatHref}
        settings={<SettingsMenu onShortcuts={showHelp} onSignOut={onSignOut} />}
        aside={aside}
      >
        {projects.isPending ? (
          <LoadingState />
        ) : projects.isError && list.length === 0 ? (
          <ErrorState error={projects.error} onRetry={() => void projects.refetch()} />
        ) : current === undefined ? (
          <NoProject />
        ) : (
          <ErrorBoundary key={location.screen}>
            {location.screen === 'chat' && <ChatBar key={sessionId}>{aside}</ChatBar>}
            <Suspense fallback={<LoadingState />}>
              <Screen location={location} projectId={current} firstMessage={firstMessage} />
            </Suspense>
          </ErrorBoundary>
        )}
      </AppFrame>
    </>
  );
}

/** Shown if no runner has ever been connected. */
function NoProject() {
  const { project } = useWords();
  return (
    <EmptyState title={project.none} hint={project.noneHint}>
      <CommandLine text="npx countersign connect DIR" />
    </EmptyState>
  );
}

/** Reads the server's suggestion for the first message of a conversation; null if there is none. */
export async function readFirstMessage(fetchWith: typeof fetch = fetch): Promise<string | null> {
  try {
    const response = await fetchWith('page-settings.json');
    const settings: unknown = response.ok ? await response.json() : null;
    const isObject = typeof settings === 'object' && settings !== null && 'first_message' in settings;
    return isObject && typeof settings.first_message === 'string' ? settings.first_message : null;
  } catch {
    return null; // the page works without the suggestion
  }
}

interface ScreenProps {
  readonly location: Location;
  readonly projectId: string;
  readonly firstMessage: string | null;
}

function Screen({ location, projectId, firstMessage }: ScreenProps) {
  switch (location.screen) {
    case 'chat':
      return (
        <ChatScreen
          projectId={projectId}
          sessionId={location.sessionId}
          toolId={location.toolId}
          firstMessage={firstMessage}
          focusesComposer
          onSession={(sessionId) => {
            window.location.hash = links.chat(sessionId ?? undefined);
          }}
        />
      );
    case 'approvals':
      return <Inbox approvalId={location.approvalId} />;
    case 'history':
      return location.toolId === null ? (
        <HistoryScreen projectId={projectId} />
      ) : (
        <CallDetail key={location.toolId} toolId={location.toolId} />
      );
    case 'metrics':
      return <MetricsScreen projectId={projectId} />;
    case 'permissions':
      return <PermissionsScreen />;
    case 'runners':
      return <RunnersScreen />;
  }
}

const subscribe = (changed: () => void) => {
  window.addEventListener('hashchange', changed);
  return () => window.removeEventListener('hashchange', changed);
};

function useLocation(): Location {
  const hash = useSyncExternalStore(subscribe, () => window.location.hash);
  return useMemo(() => readLocation(hash), [hash]);
}
