/**
 * This browser's bearer token. It is kept in origin-scoped storage: unlike a cookie, pages on other ports cannot read
 * it (RE-5).
 */
export interface TokenStorage {
  read(): string | null;
  keep(token: string): void;
  forget(): void;
}

const key = 'countersign.token';

/** Over `localStorage`; where the browser refuses it, the token lasts as long as the page. */
export function tokenStorage(storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>): TokenStorage {
  let inMemory: string | null = null;
  const guarded = <T>(use: () => T, otherwise: T): T => {
    try {
      return use();
    } catch {
      return otherwise;
    }
  };
  return {
    read: () => inMemory ?? guarded(() => storage.getItem(key), null),
    keep(token) {
      inMemory = token;
      guarded(() => storage.setItem(key, token), undefined);
    },
    forget() {
      inMemory = null;
      guarded(() => storage.removeItem(key), undefined);
    },
  };
}
