import { CountersignError } from '@countersign/protocol';

/** The call was cancelled by the person or because the runner ends. */
export class ExecutionCancelled extends CountersignError {
  constructor() {
    super('EXECUTION_CANCELLED', {});
  }
}
