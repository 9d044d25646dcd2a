import { languageOf } from '@countersign/ui/request-words';

const english = {
  none: 'There are no tokens.',
  needsName: 'Name the program that will use the token: countersign tokens new "Claude Code"',
  made: (name: string) =>
    `The token of ${name}. It is shown this once; whoever has it can ask, never approve.`,
  revoked: (name: string) => `Revoked: ${name}. It works no longer.`,
  unknown: (id: string) => `No token begins with "${id}"`,
  ambiguous: (id: string) => `"${id}" begins several tokens. Type more of it`,
  which: 'Which token? Name its id, from countersign tokens list',
  scope: { person: 'you', front_end: 'front end', runner: 'runner', agent: 'agent' },
  everywhere: 'all projects',
  never: 'never used',
  used: (when: string) => `used ${when}`,
  until: (when: string) => `until ${when}`,
  forever: 'does not end',
  ended: 'revoked',
  expired: 'expired',
};

export type TokensWords = typeof english;

const russian: TokensWords = {
  none: 'Токенов нет.',
  needsName: 'Назовите программу, которой нужен токен: countersign tokens new "Claude Code"',
  made: (name) =>
    `Токен для ${name}. Он показан один раз; с ним можно только просить, подтвердить им ничего нельзя.`,
  revoked: (name) => `Отозван: ${name}. Он больше не действует.`,
  unknown: (id) => `Нет токена, который начинается с "${id}"`,
  ambiguous: (id) => `С "${id}" начинается несколько токенов. Наберите больше`,
  which: 'Какой токен? Назовите его id из countersign tokens list',
  scope: { person: 'вы', front_end: 'интерфейс', runner: 'исполнитель', agent: 'агент' },
  everywhere: 'все проекты',
  never: 'не использовался',
  used: (when) => `использован ${when}`,
  until: (when) => `до ${when}`,
  forever: 'бессрочный',
  ended: 'отозван',
  expired: 'истёк',
};

/** What `countersign tokens` says; the rest is in words.ts. */
export const tokensWordsFor = (
  env: Readonly<Record<string, string | undefined>>,
  asked: string | undefined,
): TokensWords => (languageOf(env, asked) === 'ru' ? russian : english);
