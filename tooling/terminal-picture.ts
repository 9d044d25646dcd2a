/**
 * Draws what a countersign command prints as an SVG, for the README:
 * `node tooling/terminal-picture.ts FILE.svg ARGUMENTS…`. Run it again when the output changes. What stands on a
 * screen while a command runs comes from standard input: `tmux capture-pane -p -e | node … FILE.svg --screen ARGUMENTS…`.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { argv, execPath } from 'node:process';
import { fileURLToPath } from 'node:url';

/** What sets a style in a terminal; splitting by it leaves the codes at the odd places. */
const styleSequence = new RegExp(`${String.fromCharCode(27)}\\[(\\d+)m`);

const colors: Readonly<Record<string, string>> = {
  31: '#f07178',
  32: '#a6d189',
  33: '#e5c07b',
  36: '#7fd1d8',
  2: '#8a93a6',
};

function draw(lines: readonly string[]): string {
  const lineHeight = 20;
  const width = Math.max(...lines.map((line) => plain(line).length)) * 8.45 + 40;
  const text = lines.map((line, i) => `<text x="20" y="${34 + i * lineHeight}">${spans(line)}</text>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${Math.ceil(width)}" height="${lines.length * lineHeight + 36}" font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="#e6e9ef" xml:space="preserve">
<style>text { white-space: pre }</style>
<title>${escapeMarkup(plain(lines[0] ?? ''))}</title>
<rect width="100%" height="100%" rx="10" fill="#1b1f2a"/>
${text.join('\n')}
</svg>
`;
}

/** One `tspan` for each run of one colour; styles may be nested, and a reset ends them all. */
function spans(line: string): string {
  let color: string | undefined;
  let bold = false;
  return line
    .split(styleSequence)
    .map((part, i) => {
      if (i % 2 === 1) {
        if (part === '0') [color, bold] = [undefined, false];
        else if (part === '1') bold = true;
        else color = colors[part] ?? color;
        return '';
      }
      if (part === '') return '';
      const style = `${color ? ` fill="${color}"` : ''}${bold ? ' font-weight="bold"' : ''}`;
      return `<tspan${style}>${escapeMarkup(part)}</tspan>`;
    })
    .join('');
}

const plain = (line: string): string =>
  line
    .split(styleSequence)
    .filter((_, i) => i % 2 === 0)
    .join('');
const escapeMarkup = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** The lines that a command prints; `--screen` takes them as tmux captured them. */
function linesOf(args: readonly string[]): string[] {
  if (args[0] === '--screen') return wholeLines(readFileSync(0, 'utf8'));
  const launcher = fileURLToPath(new URL('../apps/cli/bin/countersign.mjs', import.meta.url));
  const env = { ...process.env, FORCE_COLOR: '1' };
  return spawnSync(execPath, [launcher, ...args], { encoding: 'utf8', env })
    .stdout.trimEnd()
    .split('\n');
}

/** tmux ends styles one by one and lets them reach over lines; here each line says its own. */
function wholeLines(captured: string): string[] {
  let active = '';
  const lines = captured.replaceAll('[39m', '[0m').replaceAll('[22m', '[0m').trimEnd().split('\n');
  return lines.map((line) => {
    const before = active;
    for (const [i, code] of line.split(styleSequence).entries()) {
      if (i % 2 === 1) active = code === '0' ? '' : `${active}${String.fromCharCode(27)}[${code}m`;
    }
    return before + line;
  });
}

const [file, ...args] = argv.slice(2);
if (file === undefined) throw new Error('Name the SVG file to write, then the arguments of countersign.');
const words = args.filter((word) => word !== '--screen');
const command = `$ npx countersign ${words.map((word) => (/[\s'"]/.test(word) ? `'${word}'` : word)).join(' ')}`;
writeFileSync(file, draw([command, ...linesOf(args)]));
