import { pendingOf } from '@countersign/approvals';
import { type ReactNode, useRef, useState } from 'react';
import { useLive } from '../live/live-context.ts';
import { useObservable } from '../live/observable.ts';
import { useWords } from '../words/words.ts';
import { ConnectionBanner } from './connection-banner.tsx';
import { Icon, type IconName } from './icons.tsx';
import { type Location, links } from './links.ts';
import { newScrollMemory, ScrollMemoryContext, useScrollMemory } from './scroll-memory.ts';

interface AppFrameProps {
  readonly location: Location;
  /** Where the navigation's "Chat" leads. */
  readonly chatHref: string;
  /** Beside the content on a wide screen: the project and its conversations. */
  readonly aside: ReactNode;
  readonly settings: ReactNode;
  readonly children: ReactNode;
}

/** The frame around every screen: navigation and the connection state. */
export function AppFrame({ location, chatHref, aside, settings, children }: AppFrameProps) {
  const { nav } = useWords();
  const { approvals } = useLive();
  const content = useRef<HTMLElement>(null);
  const [memory] = useState(newScrollMemory);
  useScrollMemory(content, placeOf(location), memory);
  const waiting = useObservable(approvals.entries, (entries) => pendingOf(entries).length);
  const places: readonly (readonly [Location['screen'], IconName, string, string])[] = [
    ['chat', 'chat', nav.chat, chatHref],
    ['approvals', 'approvals', nav.inbox, links.inbox()],
    ['history', 'history', nav.history, links.history()],
    ['metrics', 'metrics', nav.metrics, links.metrics()],
    ['permissions', 'permissions', nav.permissions, links.permissions()],
    ['runners', 'runners', nav.runners, links.runners()],
  ];
  return (
    <div className="frame">
      <button type="button" className="skip" onClick={() => document.getElementById('content')?.focus()}>
        {nav.skip}
      </button>
      <header className="sidebar">
        <p className="brand">
          <svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
            <path d="M4 16c3-7 5-10 6.5-10 2 0-1.500 9 .5 9 1.500 0 2.500-4.500 4-4.500 1 0 .5 3.500 2 3.500.8 0 1.500-.5 2-1.500" />
            <path d="M4 20h16" />
          </svg>
          Countersign
        </p>
        <nav className="nav" aria-label={nav.label}>
          {places.map(([screen, icon, name, href]) => (
            <a key={screen} href={href} aria-current={location.screen === screen ? 'page' : undefined}>
              <Icon name={icon} />
              <span className="nav-name nav-long">{name}</span>
              <span className="nav-name nav-short">{nav.short[screen]}</span>
              {screen === 'approvals' && waiting > 0 && (
                <span className="badge">
                  <span aria-hidden="true">{waiting}</span>
                  <span className="visually-hidden">{nav.waiting(waiting)}</span>
                </span>
              )}
            </a>
          ))}
        </nav>
        <div className="aside">{aside}</div>
        <div className="sidebar-foot">{settings}</div>
      </header>
      <main ref={content} id="content" className={`content content-${location.screen}`} tabIndex={-1}>
        <ConnectionBanner />
        <ScrollMemoryContext value={memory}>{children}</ScrollMemoryContext>
      </main>
    </div>
  );
}

/** The key of a screen's scroll position. A transcript keeps its own. */
const placeOf = (location: Location): string =>
  location.screen === 'history' && location.toolId !== null ? `call ${location.toolId}` : location.screen;
