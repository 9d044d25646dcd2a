export type Values = Readonly<Record<string, string>>;

/** The template with each `{name}` filled in. A name without a value stays as it is. Values are not filled again. */
export const fill = (template: string, values: Values): string =>
  template.replaceAll(/\{(\w+)\}/g, (place, name: string) =>
    Object.hasOwn(values, name) ? (values[name] as string) : place,
  );

/**
 * The values with which the template gives exactly this text; undefined if the text was not made from the template.
 */
export function matchTemplate(template: string, text: string): Values | undefined {
  const [first = '', ...parts] = template.split(/\{(\w+)\}/);
  if (!text.startsWith(first)) return undefined;
  const values: Record<string, string> = {};
  let at = first.length;
  for (let i = 0; i < parts.length; i += 2) {
    const [name = '', after = ''] = parts.slice(i, i + 2);
    const end = i + 2 < parts.length ? text.indexOf(after, at) : text.length - after.length;
    if (end < at) return undefined;
    values[name] ??= text.slice(at, end);
    at = end + after.length;
  }
  return fill(template, values) === text ? values : undefined;
}
