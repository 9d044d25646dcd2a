/** The device of a decision that named none: the token is all that is known of it (AP-9). */
export const tokenDevice = (tokenName: string): string => `token ${tokenName}`;

/** The token's name in a device that `tokenDevice` made; undefined for any other device. */
export const tokenOfDevice = (device: string): string | undefined => /^token (.+)$/s.exec(device)?.[1];
