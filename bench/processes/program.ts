/** The input from the process that started this one. */
export const inputOf = <T>(): T => JSON.parse(process.argv[2] ?? 'null') as T;

type Commands = Readonly<Record<string, (input: never) => unknown>>;

/** Announces that this program is ready and what it can be asked. The program ends with its parent. */
export function announceReady(ready: unknown = {}, commands: Commands = {}): void {
  const all: Commands = { ...commands, cpu: () => process.cpuUsage() };
  process.on('disconnect', () => process.exit());
  process.on('message', ({ what, input }: { what: string; input: never }) => {
    Promise.resolve(all[what]?.(input)).then(
      (answer) => process.send?.(answer ?? null),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
  process.send?.(ready);
}
