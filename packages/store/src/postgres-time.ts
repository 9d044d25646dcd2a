import type pg from 'pg';

const MEASURE_EVERY_MS = 30_000;

/** The database's clock, which all nodes share (AP-3), read now and then. It never goes back. */
export class PostgresTime {
  readonly #pool: pg.Pool;
  readonly #timer: NodeJS.Timeout;
  #offset = 0;
  #last = 0;

  private constructor(pool: pg.Pool) {
    this.#pool = pool;
    this.#timer = setInterval(() => void this.#measure(1).catch(() => {}), MEASURE_EVERY_MS);
    this.#timer.unref();
  }

  static async start(pool: pg.Pool): Promise<PostgresTime> {
    const time = new PostgresTime(pool);
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

  /** Takes the middle of the shortest round trip as the moment when the database read its clock. */
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
