import { createContext, useContext } from 'react';
import type { Live } from './live.ts';

const LiveContext = createContext<Live | null>(null);
export const LiveProvider = LiveContext.Provider;

export function useLive(): Live {
  const live = useContext(LiveContext);
  if (!live) throw new Error('There is no LiveProvider around this component.');
  return live;
}
