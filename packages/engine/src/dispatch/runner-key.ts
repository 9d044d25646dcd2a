/** The row of a person's runner. People choose the ids of their runners, so two may choose the same. */
export const runnerKey = (userId: string, runnerId: string): string => `${runnerId}@${userId}`;
