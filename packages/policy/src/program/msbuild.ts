/** Options of MSBuild, which `dotnet` takes with a slash too: `/t:Test`, `/p:Configuration=Release`. */
const OPTION =
  /^\/(t|target|p|property|v|verbosity|m|maxcpucount|nologo|nr|nodereuse|bl|clp|consoleloggerparameters|restore|warnaserror)(:|$)/i;

/** The words of a call, with the slash options of MSBuild written with a dash. They are no paths. */
export const withDashes = (name: string, args: readonly string[]): readonly string[] =>
  name === 'dotnet' ? args.map((word) => (OPTION.test(word) ? `-${word.slice(1)}` : word)) : args;
