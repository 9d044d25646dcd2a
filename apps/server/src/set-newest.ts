/** Sets a key as the newest entry. If the map then has more than `max` entries, drops the oldest. */
export function setNewest<Value>(map: Map<string, Value>, key: string, value: Value, max: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > max) map.delete(map.keys().next().value as string);
}
