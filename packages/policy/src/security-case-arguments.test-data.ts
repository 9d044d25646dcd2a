/** The security cases use neutral names for parameters (VA-9); these are our names for them. */
const ourNames: Readonly<Record<string, string>> = {
  destination: 'dest',
  query: 'content',
  regex: 'content',
  glob: 'pattern',
};

export const argumentsOf = (testCase: {
  readonly input: { readonly args?: unknown };
}): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(testCase.input.args as object).map(([name, value]) => [ourNames[name] ?? name, value]),
  );
