import '@countersign/ui/styles.css';
import './editor-theme.css';
import { Observable } from '@countersign/approvals';
import {
  ComposerInserts,
  LanguageProvider,
  languages,
  links,
  preferredLanguage,
  readLocation,
  useObservable,
} from '@countersign/ui';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import type { EditorChoices, FromPage, PagePlace, ToPage } from '../chat/messages.ts';
import { wordsFor } from '../words.ts';
import { BridgedFetch } from './bridged-fetch.ts';
import { ChatPage } from './chat-page.tsx';
import { MentionRequests } from './mention-requests.ts';
import { PageLocation } from './page-location.ts';
import { ToolRequests } from './tool-requests.ts';

interface Kept {
  readonly hash?: string;
  readonly projectId?: string | undefined;
}

declare function acquireVsCodeApi(): {
  postMessage(message: FromPage): void;
  getState(): Kept | undefined;
  setState(state: Kept): void;
};

const editor = acquireVsCodeApi();
const { lang, dataset } = document.documentElement;
const kept: Kept = editor.getState() ?? {};
const place = new Observable<PagePlace>({ state: 'connecting' });
const location = new PageLocation(kept.hash ?? '#/chat');
const bridge = new BridgedFetch((message) => editor.postMessage(message));
const toolRequests = new ToolRequests((message) => editor.postMessage(message));
const mentionRequests = new MentionRequests((message) => editor.postMessage(message));
const project = new Observable<string | null>(kept.projectId ?? null);
const choices = new Observable<EditorChoices>({ model: null, mode: 'ask' });
const retries = new Observable(0);
const inserts = new ComposerInserts();
const code = preferredLanguage([lang]);
const keep = (more: Kept) => editor.setState({ ...editor.getState(), ...more });

location.takeLinks(document);
location.hash.subscribe(() => keep({ hash: location.hash.get() }));
project.subscribe(() => keep({ projectId: project.get() ?? undefined }));

/** Shows the message field of the project, if another one or another screen is shown, and gives it the text. */
function compose({ projectId, text, send }: Extract<ToPage, { type: 'compose' }>): void {
  const isOther = project.get() !== null && project.get() !== projectId;
  if (isOther || readLocation(location.hash.get()).screen !== 'chat') location.go(links.chat());
  project.set(projectId);
  inserts.add({ text, send });
}

window.addEventListener('message', ({ data }: MessageEvent<ToPage>) => {
  if (data.type === 'place') place.set(data.place);
  else if (data.type === 'new-conversation') location.go('#/chat');
  else if (data.type === 'show-call') location.go(links.call(data.toolId));
  else if (data.type === 'TOOL_RESULT') toolRequests.receive(data);
  else if (data.type === 'mentions') mentionRequests.receive(data);
  else if (data.type === 'compose') compose(data);
  else if (data.type === 'choices') choices.set(data);
  else if (data.type === 'retry-now') retries.set(retries.get() + 1);
  else bridge.receive(data);
});

function Page() {
  const now = useObservable(place, (all) => all);
  return (
    <LanguageProvider value={{ code, words: languages[code] }}>
      <ChatPage
        place={now}
        location={location}
        words={wordsFor(lang)}
        device={dataset.device ?? 'VS Code'}
        fetch={bridge.fetch}
        executeTool={toolRequests.executeTool}
        findMentions={(projectId, typed) => mentionRequests.find(projectId, typed)}
        inserts={inserts}
        project={project}
        choices={choices}
        retries={retries}
        post={(message) => editor.postMessage(message)}
      />
    </LanguageProvider>
  );
}

const page = document.getElementById('page');
if (page) {
  createRoot(page).render(
    <StrictMode>
      <Page />
    </StrictMode>,
  );
}
editor.postMessage({ type: 'ready' });
