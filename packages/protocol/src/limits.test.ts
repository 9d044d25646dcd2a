import { describe, expect, it } from 'vitest';
import {
  defaultLimits,
  limitSettingNames,
  limitSettingOf,
  limitsLoweredBy,
  limitsOfOperator,
  lowerLimits,
  sentLimits,
} from './limits.ts';
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

describe('settings of the limits (founding documents: local-tool-execution)', () => {
  it('[TL-3] an operator lowers and raises, anybody else only lowers', () => {
    const raised = limitsOfOperator({ commandTimeoutMs: 600_000, entriesMax: 10 });
    expect(raised).toEqual({ ...defaultLimits, commandTimeoutMaxSeconds: 600, entries: 10 });
    const wish = { commandTimeoutMs: 900_000, fileSizeMaxBytes: 5, entriesMax: 11 };
    expect(limitsLoweredBy(raised, wish)).toEqual({ ...raised, fileBytes: 5 });
  });

  it('[TL-3] a lower maximum lowers the default time too, and a time is cut to whole seconds', () => {
    expect(limitsOfOperator({ commandTimeoutMs: 2_999 })).toEqual({
      ...defaultLimits,
      commandTimeoutMaxSeconds: 2,
      commandTimeoutDefaultSeconds: 2,
    });
  });

  it('[RN-1] have the defaults of the documents', () => {
    const defaults = limitSettingNames.map((name) => [name, limitSettingOf(defaultLimits, name)]);
    expect(Object.fromEntries(defaults)).toEqual({
      commandTimeoutMs: 300_000,
      commandTimeoutDefaultMs: 30_000,
      fileSizeMaxBytes: 104_857_600,
      readMaxBytes: 1_048_576,
      outputMaxBytes: 1_048_576,
      entriesMax: 1_000,
    });
  });

  it('are told between runner and server by the names of their bounds', () => {
    expect(sentLimits(defaultLimits)).toEqual({
      commandTimeoutMaxSeconds: 300,
      commandTimeoutDefaultSeconds: 30,
      fileBytes: 104_857_600,
      readChunkBytes: 1_048_576,
      outputStreamBytes: 1_048_576,
      entries: 1_000,
    });
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
