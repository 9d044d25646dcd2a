/**
 * Loaded before a server's own modules (`--import`): shifts its wall clock by what the test says. The monotonic clock
 * stays as it is, as when somebody sets the time of a machine.
 */
const { Date: RealDate } = globalThis;
let offsetMs = Number(process.env.FAULTS_CLOCK_OFFSET_MS ?? 0);
const now = (): number => RealDate.now() + offsetMs;

class JumpingDate extends RealDate {
  constructor(...args: unknown[]) {
    if (args.length === 0) super(now());
    else super(...(args as [number]));
  }

  static override now(): number {
    return now();
  }
}

globalThis.Date = new Proxy(JumpingDate, {
  apply: () => new JumpingDate().toString(), // Date() without `new`
}) as DateConstructor;

process.on('message', (message: { readonly clockOffsetMs?: number }) => {
  if (message.clockOffsetMs !== undefined) offsetMs = message.clockOffsetMs;
});
