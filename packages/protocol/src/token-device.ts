/** The device of a decision that named none: the token is all that is known of it (AP-9). */
export const tokenDevice = (tokenName: string): string => `token ${tokenName}`;

/** The name of the token, if a decision that named no device came with one. */
export const tokenOfDevice = (device: string): string | undefined => /^token (.+)$/s.exec(device)?.[1];
