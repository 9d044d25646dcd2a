import { type Approval, visibleLine } from '@countersign/protocol';

/** A reason as the person's language has it (`said`), with what triggered it where the sentence does not name that (RK-3). */
export const reasonText = (
  { why, operand }: Pick<Approval['reasons'][number], 'why' | 'operand'>,
  said: string,
): string => (operand === undefined || why.includes(operand) ? said : `${said}: ${visibleLine(operand)}`);
