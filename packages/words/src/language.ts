/** The supported languages. A table that lacks one of them does not compile. */
export const languageNames = { en: 'English', ru: 'Русский' } as const;
export type LanguageCode = keyof typeof languageNames;
export type InEachLanguage<Words> = Readonly<Record<LanguageCode, Words>>;

/** The codes as a list: `en or ru`. `word` is the word for "or". */
export const languageCodes = (word: string): string => {
  const codes = Object.keys(languageNames);
  return [codes.slice(0, -1).join(', '), ...codes.slice(-1)].join(` ${word} `);
};

/** The language of the first locale (`ru`, `ru-RU`) that we support; English if we support none of them. */
export const languageFor = (locales: readonly string[]): LanguageCode =>
  locales.map((locale) => /^[a-z]+/i.exec(locale)?.[0].toLowerCase() ?? '').find(isLanguageCode) ?? 'en';

/** The requested language, else the language of the environment (LC_ALL, LC_MESSAGES, LANG), else English. */
export function languageOf(env: Readonly<Record<string, string | undefined>>, asked?: string): LanguageCode {
  const code = twoLetters(asked ?? (env.LC_ALL || env.LC_MESSAGES || env.LANG || ''));
  return isLanguageCode(code) ? code : 'en';
}

/** Whether we support a requested language, such as `ru` or `ru-RU`. */
export const isSupportedLanguage = (asked: string): boolean => isLanguageCode(twoLetters(asked));

const twoLetters = (locale: string): string => locale.slice(0, 2).toLowerCase();
export const isLanguageCode = (code: string): code is LanguageCode => Object.hasOwn(languageNames, code);
