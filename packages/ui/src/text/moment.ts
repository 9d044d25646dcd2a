import type { LanguageCode } from '../words/words.ts';

/** A time as a person reads it: only the hour for today, with the date otherwise. */
export function moment(iso: string, language: LanguageCode, now: Date = new Date()): string {
  const at = new Date(iso);
  const isToday = at.toDateString() === now.toDateString();
  const time = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const;
  const date = {
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  } as const;
  return new Intl.DateTimeFormat(language, isToday ? time : date).format(at);
}

/** The same where there is little room: the hour for today, the day otherwise. */
export function shortMoment(iso: string, language: LanguageCode, now: Date = new Date()): string {
  const at = new Date(iso);
  const isToday = at.toDateString() === now.toDateString();
  const time = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  const date = { day: 'numeric', month: 'short' } as const;
  return new Intl.DateTimeFormat(language, isToday ? time : date).format(at);
}
