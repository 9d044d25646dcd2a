import { describe, expect, it } from 'vitest';
import { main } from '../main.ts';
import { fitHelp } from './help-text.ts';
import { FakeScreen, fakeTerminal } from './screen-fixture.test-data.ts';
import { widthOf } from './text-width.ts';

const help = `countersign fly: up and away

  countersign fly DIR        over this folder, and not over the one beside it

It goes up when the weather is fine
and comes down by itself.

Options
  --high HEIGHT   how high, in metres above the sea
`;

describe('help', () => {
  it('is unchanged if it fits', () => expect(fitHelp(help, 80)).toBe(help));

  it('indents continuation lines to the description, and joins the lines of prose', () => {
    expect(fitHelp(help, 60)).toBe(`countersign fly: up and away

  countersign fly DIR        over this folder, and not over
                             the one beside it

It goes up when the weather is fine and comes down by
itself.

Options
  --high HEIGHT   how high, in metres above the sea
`);
  });

  it('has descriptions below in a very narrow one', () => {
    expect(fitHelp(help, 40)).toContain(
      '  countersign fly DIR\n      over this folder, and not over\n      the one beside it\n',
    );
  });

  const commands =
    'acp approvals audit chat connect doctor history mcp policy serve sign-in tokens tools undo up'.split(
      ' ',
    );
  const lines = [[], ...commands.map((command) => [command, '--help'])];
  it.each(lines.flatMap((argv) => ['en_US.UTF-8', 'ru_RU.UTF-8'].map((LANG) => ({ argv, LANG }))))(
    '[UI-4] countersign $argv breaks no word at 80 and at 40 columns: $LANG',
    async ({ argv, LANG }) => {
      const shown = async (columns: number) => {
        const screen = new FakeScreen(columns, 40);
        expect(await main(argv, { ...fakeTerminal({ screen }), screen }, { LANG })).toBe(0);
        // The name of a setting stays whole.
        const tooLong = (line: string) => widthOf(line) > columns && !/^ +[A-Z_]+$/.test(line);
        expect(screen.text.split('\n').filter(tooLong)).toEqual([]);
        return screen.text.replace(/\s+/g, ' ');
      };
      const whole = await shown(200);
      expect(whole).toContain('countersign');
      expect(await shown(80)).toBe(whole);
      await shown(40);
      expect(/[а-яё]/i.test(whole)).toBe(LANG.startsWith('ru'));
    },
  );
});
