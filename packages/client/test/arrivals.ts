/** Items that arrive one by one, and a way to wait for the next. */
export class Arrivals<T> {
  readonly all: T[] = [];
  #taken = 0;
  #wake: () => void = () => {};

  readonly add = (item: T): void => {
    this.all.push(item);
    this.#wake();
  };

  async next(): Promise<T> {
    while (this.#taken >= this.all.length) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const item = this.all[this.#taken] as T;
    this.#taken += 1;
    return item;
  }

  /** Skips what does not match. */
  async nextWhere(matches: (item: T) => boolean): Promise<T> {
    for (let item = await this.next(); ; item = await this.next()) {
      if (matches(item)) return item;
    }
  }
}
