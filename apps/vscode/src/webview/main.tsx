import '@countersign/ui/styles.css';
import './editor-theme.css';
import { Observable } from '@countersign/approvals';
import { LanguageProvider, languages, links, preferredLanguage, useObservable } from '@countersign/ui';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import type { FromPage, PagePlace, ToPage } from '../chat/messages.ts';
import { wordsFor } from '../words.ts';
import { BridgedFetch } from './bridged-fetch.ts';
import { ChatPage } from './chat-page.tsx';
import { PageLocation } from './page-location.ts';
import { ToolRequests } from './tool-requests.ts';

interface Kept {
  readonly hash?: string;
  readonly projectId?: string;
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
const code = preferredLanguage([lang]);
const keep = (more: Kept) => editor.setState({ ...editor.getState(), ...more });

location.takeLinks(document);
location.hash.subscribe(() => keep({ hash: location.hash.get() }));
window.addEventListener('message', ({ data }: MessageEvent<ToPage>) => {
  if (data.type === 'place') place.set(data.place);
  else if (data.type === 'new-conversation') location.go('#/chat');
  else if (data.type === 'show-call') location.go(links.call(data.toolId));
  else if (data.type === 'TOOL_RESULT') toolRequests.receive(data);
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
        firstProject={kept.projectId ?? null}
        onProject={(projectId) => keep({ projectId })}
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
