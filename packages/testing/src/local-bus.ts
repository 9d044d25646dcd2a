import type { Hint } from '@countersign/engine';
import { InProcessBus } from '@countersign/store';

/** A bus within one process. `deaf` makes it lose every hint, as a network may. */
export class LocalBus extends InProcessBus {
  deaf = false;

  override publish(hint: Hint): void {
    if (!this.deaf) super.publish(hint);
  }
}
