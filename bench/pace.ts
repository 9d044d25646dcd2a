/** `--quick`: smaller amounts and fewer rounds, to check that everything runs. Its numbers mean little. */
export const isQuick = process.argv.includes('--quick');

/** Returns `quick` with `--quick`, else `whole`. */
export const paced = <T>(whole: T, quick: T): T => (isQuick ? quick : whole);
