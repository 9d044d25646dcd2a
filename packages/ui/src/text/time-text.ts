import type { LanguageCode } from '../words/words.ts';

const time = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
const day = { day: 'numeric', month: 'short' } as const;

/** The time of day with seconds for today, date and time otherwise. */
export function moment(iso: string, language: LanguageCode, now: Date = new Date()): string {
  const format = isSameDay(iso, now) ? ({ ...time, second: '2-digit' } as const) : { ...day, ...time };
  return new Intl.DateTimeFormat(language, format).format(new Date(iso));
}

/** The time of day for today, the date otherwise. */
export function shortMoment(iso: string, language: LanguageCode, now: Date = new Date()): string {
  return new Intl.DateTimeFormat(language, isSameDay(iso, now) ? time : day).format(new Date(iso));
}

const isSameDay = (iso: string, now: Date): boolean => new Date(iso).toDateString() === now.toDateString();
