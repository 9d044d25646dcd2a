/** Editors that people call VS Code, whatever their own name is. */
const vsCodes = ['Visual Studio Code', 'Code - OSS', 'code-server', 'VSCodium'];

/** The name that all devices show for a decision made here: "You approved this in VS Code". */
export const deviceName = (appName: string): string =>
  (vsCodes.some((name) => appName.startsWith(name)) ? 'VS Code' : appName).slice(0, 100);
