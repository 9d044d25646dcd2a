import { createContext, useContext } from 'react';
import type { LiveState } from './live-state.ts';

const LiveContext = createContext<LiveState | null>(null);
export const LiveProvider = LiveContext.Provider;

export function useLive(): LiveState {
  const live = useContext(LiveContext);
  if (!live) throw new Error('There is no LiveProvider around this component.');
  return live;
}
