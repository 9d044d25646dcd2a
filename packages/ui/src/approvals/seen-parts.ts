interface Part {
  readonly from: number;
  readonly to: number;
}

/** Fractions of a pixel are lost where a browser rounds. */
const tolerance = 2;

/** How long a part must stay in sight to count as seen, so that scrolling past does not count. */
const seenMs = 300;

/** Which parts of a card were in sight. A card that is taller than the view is read in pieces. */
export class SeenParts {
  #parts: readonly Part[] = [];
  #shown: readonly (Part & { readonly at: number })[] = [];

  /**
   * Records what is in sight at a time. A part that stays in sight long enough counts as seen. Positions count from the
   * top of the text.
   */
  look(from: number, to: number, at: number): void {
    this.#shown = [...this.#shown, { from, to, at }];
    const start = this.#shown.findLastIndex((one) => at - one.at >= seenMs);
    if (start < 0) return;
    this.#shown = this.#shown.slice(start);
    this.add(Math.max(...this.#shown.map((one) => one.from)), Math.min(...this.#shown.map((one) => one.to)));
  }

  /** Counts a part as seen. */
  add(from: number, to: number): void {
    if (to <= from) return;
    const apart = this.#parts.filter((part) => part.to + tolerance < from || to + tolerance < part.from);
    const joined = this.#parts.filter((part) => !apart.includes(part));
    const whole = {
      from: Math.min(from, ...joined.map((part) => part.from)),
      to: Math.max(to, ...joined.map((part) => part.to)),
    };
    this.#parts = [...apart, whole].sort((a, b) => a.from - b.from);
  }

  /** The beginning of the first part that was never in sight; undefined if everything was. */
  firstUnseen(height: number, now: Part = { from: 0, to: 0 }): number | undefined {
    let unseen = 0;
    for (const { from, to } of [...this.#parts, now, ...this.#parts])
      if (from <= unseen + tolerance) unseen = Math.max(unseen, to);
    return unseen >= height - tolerance ? undefined : unseen;
  }
}
