export { ApprovalCard } from './approvals/approval-card.tsx';
export { Inbox } from './approvals/inbox.tsx';
export { ChatBar } from './chat/chat-bar.tsx';
export { useChatHref } from './chat/chat-href.ts';
export { ChatScreen } from './chat/chat-screen.tsx';
export { ProjectPicker } from './chat/project-picker.tsx';
export { SessionList } from './chat/session-list.tsx';
export { AppFrame } from './frame/app-frame.tsx';
export { ApprovalAlerts } from './frame/approval-alerts.tsx';
export { Button } from './frame/button.tsx';
export { ConnectionBanner } from './frame/connection-banner.tsx';
export { ErrorBoundary } from './frame/error-boundary.tsx';
export { type Location, links, readLocation } from './frame/links.ts';
export {
  keepPreferences,
  loadPreferences,
  preferences,
  usePreference,
  useTheme,
} from './frame/preferences.ts';
export { SettingsMenu } from './frame/settings-menu.tsx';
export { Shortcuts } from './frame/shortcuts.tsx';
export { CommandLine, EmptyState, ErrorState, LoadingState } from './frame/states.tsx';
export { CallDetail } from './history/call-detail.tsx';
export { HistoryScreen } from './history/history-screen.tsx';
export { ComposerInserts } from './host-editor/composer-inserts.ts';
export { type HostEditor, HostEditorProvider, type Mention } from './host-editor/host-editor.ts';
export { LiveProvider, useLive } from './live/live-context.ts';
export { LiveState } from './live/live-state.ts';
export { useObservable } from './live/observable.ts';
export { MetricsScreen } from './metrics/metrics-screen.tsx';
export { PermissionsScreen } from './permissions/permissions-screen.tsx';
export { EventSync } from './queries/event-sync.tsx';
export { useProjects } from './queries/workspace.ts';
export { RunnersScreen } from './runners/runners-screen.tsx';
export { LanguageProvider, languages, preferredLanguage, useWords } from './words/words.ts';
