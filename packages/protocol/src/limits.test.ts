import { describe, expect, it } from 'vitest';
import { defaultLimits, lowerLimits } from './limits.ts';
import { timing } from './timing.ts';

describe('limits', () => {
  it('[TL-3] keeps the bounds of the specification', () => {
    expect(defaultLimits).toEqual({
      fileBytes: 104_857_600,
      readChunkBytes: 1_048_576,
      outputStreamBytes: 1_048_576,
      commandTimeoutDefaultSeconds: 30,
      commandTimeoutMaxSeconds: 300,
      entries: 1_000,
      pathBytes: 4_096,
      nameBytes: 255,
      commandCharacters: 131_072,
      patternCharacters: 1_000,
    });
  });

  it('[TL-3] lets anybody lower a bound, and leaves the others', () => {
    expect(lowerLimits(defaultLimits, { entries: 10 })).toEqual({ ...defaultLimits, entries: 10 });
  });

  it.each([Number.POSITIVE_INFINITY, 1_001, Number.NaN, -1])(
    '[TL-3] ignores %d, which would not lower',
    (entries) => {
      expect(lowerLimits(defaultLimits, { entries })).toEqual(defaultLimits);
    },
  );

  it('[TL-3] ignores bounds that do not exist', () => {
    const wish = JSON.parse('{"fileByte": 1, "__proto__": {"entries": 1}}') as object;
    expect(lowerLimits(defaultLimits, wish)).toEqual(defaultLimits);
  });

  it('[TL-3] keeps the default time of a command within its maximum', () => {
    expect(lowerLimits(defaultLimits, { commandTimeoutMaxSeconds: 10 })).toEqual({
      ...defaultLimits,
      commandTimeoutDefaultSeconds: 10,
      commandTimeoutMaxSeconds: 10,
    });
  });

  it('lowers a copy', () => {
    const before = { ...defaultLimits };
    lowerLimits(defaultLimits, { fileBytes: 1 });
    expect(defaultLimits).toEqual(before);
  });
});

describe('timing', () => {
  it('[EV-2] [EV-4] [EX-6] [EX-7] [EX-10] keeps what both sides count on', () => {
    expect(timing).toEqual({
      streamHeartbeatSeconds: 15,
      eventsKeptDays: 7,
      runnerHeartbeatSeconds: 10,
      runnerLeaseSeconds: 30,
      approvalGoodForSeconds: 600,
      runnerWaitSeconds: 60,
    });
  });
});
