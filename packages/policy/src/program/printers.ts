import { onlyPrints } from '../command/general-rules.ts';
import { optionTable } from './options.ts';
import { judgeOptions, type Program } from './program.ts';

/** echo, pwd and whoami: their operands are text or nothing. */

export const echo: Program = {
  names: ['echo'],
  rules: [],
  judge(_args, judgement) {
    judgement.raise(onlyPrints);
  },
};

const pwdOptions = optionTable({ flags: '-L --logical -P --physical --help --version' });
export const pwd: Program = {
  names: ['pwd'],
  rules: [],
  judge(args, judgement) {
    judgement.raise(onlyPrints);
    judgeOptions(args, pwdOptions, judgement, 'reader');
  },
};

const whoamiOptions = optionTable({ flags: '--help --version' });
export const whoami: Program = {
  names: ['whoami'],
  rules: [],
  judge(args, judgement) {
    judgement.raise(onlyPrints);
    judgeOptions(args, whoamiOptions, judgement, 'reader');
  },
};
