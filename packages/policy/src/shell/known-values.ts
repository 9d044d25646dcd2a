/**
 * Harmless values of variables that could also load or start code: they only set a limit, a warning or a folder of the
 * workspace. A test runs the examples of the rules that make an exception for them.
 */
const nodeOption =
  '--(max-old-space-size|stack-trace-limit|max-http-header-size)=\\d+|--(no-warnings|no-deprecation|trace-warnings|enable-source-maps|experimental-vm-modules|experimental-strip-types)';
const rustFlag = '-[DAWF] ?[a-z][\\w:-]*|--cfg[ =][\\w-]+|-C ?(debuginfo|opt-level)=\\w+';
const folder = '(\\.|(\\./)?\\w[\\w.-]*(/\\w[\\w.-]*)*/?)';

const listOf = (item: string, separator = ' '): RegExp => new RegExp(`^(${item})(${separator}(${item}))*$`);

const knownValues: ReadonlyMap<string, RegExp> = new Map([
  ['NODE_OPTIONS', listOf(nodeOption)],
  ['RUSTFLAGS', listOf(rustFlag)],
  ['RUSTDOCFLAGS', listOf(rustFlag)],
  ['PYTHONPATH', listOf(folder, ':')],
  ['PYTHONWARNINGS', /^(default|error|ignore|always|once)$/],
  ['MAKEFLAGS', /^-?j ?\d*$/],
  ['GOFLAGS', /^-(mod=(mod|vendor|readonly)|race|v|count=1)$/],
]);

export const hasKnownValue = (name: string, value: string): boolean =>
  knownValues.get(name)?.test(value) ?? false;
