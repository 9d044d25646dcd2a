import {
  CallDetail,
  ChatScreen,
  HistoryScreen,
  Inbox,
  type Location,
  links,
  MetricsScreen,
  PermissionsScreen,
  RunnersScreen,
} from '@countersign/ui';

interface ScreenProps {
  readonly location: Location;
  readonly projectId: string;
  readonly firstMessage: string | null;
}

/** Chooses the screen for an address. */
export function Screen({ location, projectId, firstMessage }: ScreenProps) {
  switch (location.screen) {
    case 'chat':
      return (
        <ChatScreen
          projectId={projectId}
          sessionId={location.sessionId}
          toolId={location.toolId}
          firstMessage={firstMessage}
          onSession={(sessionId) => {
            window.location.hash = links.chat(sessionId);
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
