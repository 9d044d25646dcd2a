/** `2 calls`, as English counts. */
export const englishCount = (n: number, one: string, many: string): string => `${n} ${n === 1 ? one : many}`;

/** `1 вызов`, `2 вызова`, `5 вызовов`, as Russian counts. */
export function russianCount(n: number, one: string, few: string, many: string): string {
  const tens = n % 100;
  const ones = n % 10;
  if (ones === 1 && tens !== 11) return `${n} ${one}`;
  const isFew = ones >= 2 && ones <= 4 && (tens < 12 || tens > 14);
  return `${n} ${isFew ? few : many}`;
}
