import type pg from 'pg';

/**
 * The database's clock, which all nodes share (AP-3). It is read now and then; in between, our monotonic clock counts. It
 * never goes back.
 */
export class PostgresTime {
  readonly #pool: pg.Pool;
  readonly #timer: NodeJS.Timeout;
  #offset = 0;
  #last = 0;

  private constructor(pool: pg.Pool, everyMs: number) {
    this.#pool = pool;
    this.#timer = setInterval(() => void this.#measure(1).catch(() => {}), everyMs);
    this.#timer.unref();
  }

  static async start(pool: pg.Pool, everyMs: number): Promise<PostgresTime> {
    const time = new PostgresTime(pool, everyMs);
    try {
      await time.#measure(3);
    } catch (error) {
      time.stop();
      throw error;
    }
    return time;
  }

  readonly now = (): number => {
    this.#last = Math.max(this.#last, Math.floor(this.#offset + performance.now()));
    return this.#last;
  };

  stop(): void {
    clearInterval(this.#timer);
  }

  /** The database read its clock between our sending and receiving; the shortest round trip is the most exact. */
  async #measure(trips: number): Promise<void> {
    let shortest = Number.POSITIVE_INFINITY;
    for (let trip = 0; trip < trips; trip += 1) {
      const asked = performance.now();
      const { rows } = await this.#pool.query<{ ms: number }>({
        name: 'cs_time',
        text: 'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
      });
      const arrived = performance.now();
      const ms = rows[0]?.ms;
      if (ms === undefined || arrived - asked >= shortest) continue;
      shortest = arrived - asked;
      this.#offset = ms - (asked + arrived) / 2;
    }
  }
}
