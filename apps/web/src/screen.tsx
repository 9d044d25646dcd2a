import { ChatScreen, Inbox, type Location, links } from '@countersign/ui';

interface ScreenProps {
  readonly location: Location;
  readonly projectId: string;
  readonly firstMessage: string | null;
}

/** The screen that an address names. */
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
      return <Inbox />;
    default:
      return null;
  }
}
