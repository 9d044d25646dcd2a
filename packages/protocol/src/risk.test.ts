import { describe, expect, it } from 'vitest';
import { approvalTimeoutSeconds, higherRisk, riskLevels } from './risk.ts';

describe('risk', () => {
  it('[RK-1] has three levels, and gives 300 s for MEDIUM and 600 s for HIGH', () => {
    expect(riskLevels).toEqual(['LOW', 'MEDIUM', 'HIGH']);
    expect(approvalTimeoutSeconds).toEqual({ LOW: 0, MEDIUM: 300, HIGH: 600 });
  });

  it('takes the higher of two levels, whichever comes first', () => {
    expect(riskLevels.map((a) => riskLevels.map((b) => higherRisk(a, b)))).toEqual([
      ['LOW', 'MEDIUM', 'HIGH'],
      ['MEDIUM', 'MEDIUM', 'HIGH'],
      ['HIGH', 'HIGH', 'HIGH'],
    ]);
  });
});
