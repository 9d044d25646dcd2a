export type Values = Readonly<Record<string, string>>;

/** The template with its `{name}`s filled; one without a value stays readable. A value is text, whatever it holds. */
export const fill = (template: string, values: Values): string =>
  template.replaceAll(/\{(\w+)\}/g, (place, name: string) =>
    Object.hasOwn(values, name) ? (values[name] as string) : place,
  );

/**
 * The values that a text made from this template was filled with; undefined if it was not made from it. Checks that
 * filling the template with these values gives exactly the text.
 */
export function readBack(template: string, text: string): Values | undefined {
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
