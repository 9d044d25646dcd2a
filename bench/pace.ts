/** `--quick`: smaller amounts and fewer rounds, to see that everything runs. Its numbers are worth little. */
export const isQuick = process.argv.includes('--quick');

/** An amount, or the one that is enough to see that it works. */
export const paced = <T>(whole: T, quick: T): T => (isQuick ? quick : whole);
