/** The languages that we have. Each table by language has exactly these: one that lacks a language does not compile. */
export const languageNames = { en: 'English', ru: 'Русский' } as const;
export type LanguageCode = keyof typeof languageNames;
export type InEachLanguage<Words> = Readonly<Record<LanguageCode, Words>>;

/** `en or ru`, with the word of a language between the last two. */
export const languageCodes = (word: string): string => {
  const codes = Object.keys(languageNames);
  return [codes.slice(0, -1).join(', '), ...codes.slice(-1)].join(` ${word} `);
};

/** The first of these locales (`ru`, `ru-RU`) that names a language of ours; English if none does. */
export const languageFor = (locales: readonly string[]): LanguageCode =>
  locales.map((locale) => /^[a-z]+/i.exec(locale)?.[0].toLowerCase() ?? '').find(isOurs) ?? 'en';

/** The language that was asked for, else that of the environment, as programs in a terminal do it. */
export function languageOf(env: Readonly<Record<string, string | undefined>>, asked?: string): LanguageCode {
  const code = twoLetters(asked ?? (env.LC_ALL || env.LC_MESSAGES || env.LANG || ''));
  return isOurs(code) ? code : 'en';
}

/** Whether a language that was asked for, such as `ru` or `ru-RU`, is one of ours. */
export const isSpoken = (asked: string): boolean => isOurs(twoLetters(asked));

const twoLetters = (locale: string): string => locale.slice(0, 2).toLowerCase();
export const isOurs = (code: string): code is LanguageCode => Object.hasOwn(languageNames, code);
