/**
 * The bearer of this browser. It stands in origin-scoped storage, which pages on other ports cannot read, unlike a
 * cookie (RE-5).
 */
export interface TokenStorage {
  read(): string | null;
  keep(token: string): void;
  forget(): void;
}

const key = 'countersign.token';

/** Over `localStorage`; a browser that refuses it keeps the token as long as the page is open. */
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
