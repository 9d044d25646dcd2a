import { readOptions } from '../program/options.ts';
import type { ProgramCall } from './program-call.ts';

/** Programs that give the rights of another user, whatever they are asked. */
const ALWAYS = new Set(
  (
    'sudo su doas pkexec run0 sudoedit gosu su-exec runuser visudo calife sux kdesu gksu gksudo sudo-rs please ' +
    'dzdo pfexec ksu pbrun sesu super userv kdesudo lxsu beesu userhelper consolehelper rootsh setuidgid chpst'
  ).split(' '),
);
/** Groups that are as good as the administrator. */
const POWERFUL_GROUPS = /^(root|wheel|sudo|admin|adm|disk|docker|lxd|shadow|kmem|0)$/;

/** `-v /:/host`, `--mount type=bind,source=/,target=/host`: all of the machine's files, to write. */
const mountsRoot = (word: string): boolean =>
  (/^(-v|--volume=)?\/+:\/[^:]*(:.*)?$/.test(word) && !/:(.*,)?ro\b/.test(word)) ||
  (/\b(src|source)=\/+(,|$)/.test(word) && !/\b(readonly|ro)\b/.test(word));

/** The words by which a call asks for the rights of another user or of the administrator. */
export function findPrivilege({ name, args }: ProgramCall): string | undefined {
  if (ALWAYS.has(name)) return name;
  const asked = [name, ...args].join(' ').slice(0, 200);
  const [first = ''] = args;
  if (/^(-h|--help|-V|--version)$/.test(first)) return undefined;
  switch (name) {
    case 'setpriv':
      return args.some((word) => /^--(re|r|e)?[ug]id\b|^--(init-)?groups|^--(inh|ambient)-caps=\+/.test(word))
        ? asked
        : undefined;
    case 'capsh':
      return args.some((word) => /^--(uid|gid|user|groups|caps|inh|addamb|secbits|mode|chroot)=/.test(word))
        ? asked
        : undefined;
    case 'nsenter':
    case 'chroot':
    case 'arch-chroot':
    case 'systemd-nspawn':
    case 'schroot':
      return args.length > 0 ? asked : undefined;
    case 'systemd-run':
      return args.some((word) => /^--[ug]id\b|^(-p|--property=)?(User|Group|DynamicUser)=/.test(word))
        ? asked
        : undefined;
    case 'machinectl':
      return /^(shell|login)$/.test(first) ? asked : undefined;
    case 'docker':
    case 'podman':
    case 'nerdctl':
      return args.find(mountsRoot);
    case 'sg':
    case 'newgrp':
      return POWERFUL_GROUPS.test(readOptions(args).operands[0] ?? '') ? asked : undefined;
    default:
      return undefined;
  }
}
