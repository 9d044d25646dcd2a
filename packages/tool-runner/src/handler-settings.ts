import {
  CountersignError,
  defaultLimits,
  describeIssues,
  type LimitSettingName,
  type Limits,
  limitSettingNames,
  limitSettingOf,
  limitSettings,
  limitsLoweredBy,
  limitsOfOperator,
} from '@countersign/protocol';
import { z } from 'zod';

/** The schema of one TL-3 limit. */
const bound = (name: LimitSettingName) =>
  z.int().min(limitSettings[name].min).max(limitSettings[name].max).optional();

/** The settings of a runner, with the same names in `runner.json`, in VS Code's settings and in ToolHandlerConfig. */
export const handlerSettingsSchema = z.strictObject({
  commandTimeoutMs: bound('commandTimeoutMs'),
  commandTimeoutDefaultMs: bound('commandTimeoutDefaultMs'),
  fileSizeMaxBytes: bound('fileSizeMaxBytes'),
  readMaxBytes: bound('readMaxBytes'),
  outputMaxBytes: bound('outputMaxBytes'),
  entriesMax: bound('entriesMax'),
  concurrencyLimit: z.int().min(1).max(32).optional(),
  approvalTimeoutMs: z.int().min(1).max(3_600_000).optional(),
  enableCaching: z.boolean().optional(),
  cacheTtlMs: z.int().min(0).max(3_600_000).optional(),
});
export type HandlerSettings = z.infer<typeof handlerSettingsSchema>;
export const handlerSettingNames = Object.keys(
  handlerSettingsSchema.shape,
) as readonly (keyof HandlerSettings)[];

/** Defaults of the settings that are not TL-3 limits. */
const otherDefaults = {
  concurrencyLimit: 3,
  approvalTimeoutMs: 300_000,
  enableCaching: true,
  cacheTtlMs: 60_000,
};

export type SettingsInForce = Readonly<typeof otherDefaults> & { readonly limits: Limits };

/**
 * Merges the defaults, the machine's `runner.json` and the settings of the program that contains the runner. The file
 * belongs to the machine's operator and may raise a value; the program may only lower it (TL-3).
 */
export function settingsInForce(
  file: HandlerSettings,
  program: HandlerSettings,
  base: Limits = defaultLimits,
): SettingsInForce {
  const lowest = (name: 'concurrencyLimit' | 'approvalTimeoutMs' | 'cacheTtlMs'): number =>
    Math.min(file[name] ?? otherDefaults[name], program[name] ?? Number.POSITIVE_INFINITY);
  return {
    limits: limitsLoweredBy(limitsOfOperator(file, base), program),
    concurrencyLimit: lowest('concurrencyLimit'),
    approvalTimeoutMs: lowest('approvalTimeoutMs'),
    enableCaching: (file.enableCaching ?? otherDefaults.enableCaching) && program.enableCaching !== false,
    cacheTtlMs: lowest('cacheTtlMs'),
  };
}

/** The value of one setting, in the unit of its name. */
export function settingValue(settings: SettingsInForce, name: keyof HandlerSettings): number | boolean {
  return isLimitSetting(name) ? limitSettingOf(settings.limits, name) : settings[name];
}

const isLimitSetting = (name: string): name is LimitSettingName =>
  (limitSettingNames as readonly string[]).includes(name);

/** Checks a program's settings. Throws USAGE, which names the invalid setting after the prefix `place`. */
export function requireHandlerSettings(
  given: Readonly<Record<string, unknown>>,
  place = '',
): HandlerSettings {
  const known = Object.fromEntries(handlerSettingNames.map((name) => [name, given[name] ?? undefined]));
  const parsed = handlerSettingsSchema.safeParse(known);
  if (parsed.success) return parsed.data;
  const problem = `${place}${describeIssues(parsed.error)}`;
  throw new CountersignError('USAGE', { problem, help: 'countersign doctor' });
}
