import {
  AppFrame,
  ApprovalAlerts,
  ChatBar,
  ErrorBoundary,
  ErrorState,
  EventSync,
  LoadingState,
  links,
  ProjectPicker,
  SessionList,
  SettingsMenu,
  Shortcuts,
  usePreference,
  useProjects,
} from '@countersign/ui';
import { Suspense, useCallback, useEffect, useState } from 'react';
import { NoProject } from './no-project.tsx';
import { readFirstMessage } from './page-settings.ts';
import { Screen } from './screen.tsx';
import { useLocation } from './use-location.ts';

/** The signed-in page: the frame, and the screen that the address names. */
export function Workplace({ onSignOut }: { onSignOut(): void }) {
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
