import { defaultLimits } from '@countersign/protocol';
import { describe, expect, it } from 'vitest';
import {
  type HandlerSettings,
  handlerSettingNames,
  requireHandlerSettings,
  settingsInForce,
  settingValue,
} from './handler-settings.ts';

const valuesOf = (file: HandlerSettings, program: HandlerSettings = {}) => {
  const settings = settingsInForce(file, program);
  return Object.fromEntries(handlerSettingNames.map((name) => [name, settingValue(settings, name)]));
};

const builtIn = {
  commandTimeoutMs: 300_000,
  commandTimeoutDefaultMs: 30_000,
  fileSizeMaxBytes: 104_857_600,
  readMaxBytes: 1_048_576,
  outputMaxBytes: 1_048_576,
  entriesMax: 1_000,
  concurrencyLimit: 3,
  approvalTimeoutMs: 300_000,
  enableCaching: true,
  cacheTtlMs: 60_000,
};

describe('settings of a runner (founding documents: local-tool-execution)', () => {
  it('[RN-1] [TL-3] have built-in values', () => {
    expect(valuesOf({})).toEqual(builtIn);
    expect(settingsInForce({}, {}).limits).toEqual(defaultLimits);
  });

  it('[TL-3] the owner of the machine lowers and raises each of them', () => {
    const raised = {
      commandTimeoutMs: 600_000,
      commandTimeoutDefaultMs: 60_000,
      fileSizeMaxBytes: 200_000_000,
      readMaxBytes: 2_000_000,
      outputMaxBytes: 2_000_000,
      entriesMax: 5_000,
      concurrencyLimit: 8,
      approvalTimeoutMs: 900_000,
      enableCaching: true,
      cacheTtlMs: 120_000,
    };
    expect(valuesOf(raised)).toEqual(raised);
    const lowered = { ...builtIn, entriesMax: 5, concurrencyLimit: 1, enableCaching: false, cacheTtlMs: 0 };
    expect(valuesOf(lowered)).toEqual(lowered);
  });

  it('[TL-3] the settings of a program lower what the machine says, and raise nothing', () => {
    const higher = {
      commandTimeoutMs: 900_000,
      concurrencyLimit: 30,
      cacheTtlMs: 90_000,
      enableCaching: true,
    };
    expect(valuesOf({}, higher)).toEqual(builtIn);
    expect(valuesOf({ enableCaching: false }, higher)).toEqual({ ...builtIn, enableCaching: false });
    const lower = { commandTimeoutMs: 10_000, concurrencyLimit: 2, enableCaching: false };
    expect(valuesOf({ commandTimeoutMs: 600_000, concurrencyLimit: 8 }, lower)).toEqual({
      ...builtIn,
      ...lower,
      commandTimeoutDefaultMs: 10_000,
    });
  });

  it.each([
    ['commandTimeoutMs', 10],
    ['commandTimeoutMs', 3_600_001],
    ['fileSizeMaxBytes', -1],
    ['readMaxBytes', 3],
    ['concurrencyLimit', 0],
    ['concurrencyLimit', 'many'],
    ['enableCaching', 'yes'],
    ['cacheTtlMs', Number.NaN],
  ])('[TL-3] a bad %s (%s) is an error that names it', (name, value) => {
    expect(() => requireHandlerSettings({ [name]: value }, 'countersign.runner.')).toThrow(
      `countersign.runner.${name}: `,
    );
  });

  it('treats undefined settings as missing', () => {
    expect(requireHandlerSettings({ commandTimeoutMs: null, entriesMax: 5, other: 'x' })).toEqual({
      entriesMax: 5,
    });
  });
});
