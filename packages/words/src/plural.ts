const english = new Intl.PluralRules('en');
const russian = new Intl.PluralRules('ru');

/** The form for `n`: `call` for 1, `calls` for 2. */
export const englishPlural = (n: number, one: string, other: string): string =>
  english.select(n) === 'one' ? one : other;

/** `1 call`, `2 calls`. */
export const englishCount = (n: number, one: string, other: string): string =>
  `${n} ${englishPlural(n, one, other)}`;

/** The form for `n`: `вызов` for 1, `вызова` for 2, `вызовов` for 5. */
export function russianPlural(n: number, one: string, few: string, many: string): string {
  const form = russian.select(n);
  return form === 'one' ? one : form === 'few' ? few : many;
}

/** `1 вызов`, `2 вызова`, `5 вызовов`. */
export const russianCount = (n: number, one: string, few: string, many: string): string =>
  `${n} ${russianPlural(n, one, few, many)}`;
