import { spawn } from 'node:child_process';
import type { Environment } from '../command-context.ts';

/** Opens an address in the person's browser. Returns whether a browser was started; never fails. */
export function openInBrowser(
  address: string,
  env: Environment,
  platform: NodeJS.Platform = process.platform,
): Promise<boolean> {
  const command = openerOf(env, platform);
  if (!command) return Promise.resolve(false);
  const [program, ...args] = command;
  return new Promise((resolve) => {
    // Detached: we do not wait for it, and it outlives us.
    const opener = spawn(program, [...args, address], { stdio: 'ignore', detached: true, env: { ...env } });
    opener.once('error', () => resolve(false));
    opener.once('spawn', () => resolve(true));
    opener.unref();
  });
}

type Command = readonly [program: string, ...args: string[]];

function openerOf(env: Environment, platform: NodeJS.Platform): Command | undefined {
  if (env.CI) return undefined;
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  // Without a desktop, xdg-open would start a text browser in our terminal.
  const hasScreen = Boolean(env.DISPLAY || env.WAYLAND_DISPLAY);
  return hasScreen ? ['xdg-open'] : undefined;
}
