/**
 * `node tooling/rule-sentences.ts`: writes the English sentence of each rule of packages/policy into packages/words. Front
 * ends need the sentences to recognise and translate them, but cannot load the policy. A test fails if the file is old.
 */
import { writeFileSync } from 'node:fs';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { executingPlaces, sensitivePlaces } from '../packages/policy/src/index.ts';
import { lineRules } from '../packages/policy/src/line/line-assessor.ts';
import { lineProgramRules } from '../packages/policy/src/program/line-manuals.ts';
import { commandRules } from '../packages/policy/src/program/manuals.ts';
import { catastropheList } from '../packages/policy/src/shell/catastrophes.ts';
import { programWarnings, warnings } from '../packages/policy/src/shell/warnings.ts';
import { writeRules } from '../packages/policy/src/write-rules.ts';

const rules = [
  ...commandRules,
  ...lineRules,
  ...lineProgramRules,
  ...Object.values(warnings),
  ...programWarnings,
  ...catastropheList,
  ...writeRules,
];
const places = [...executingPlaces.places, ...sensitivePlaces.places];

/** Why a rule fires, or what kind of place it names, by its id. */
export const ruleSentences: ReadonlyMap<string, string> = new Map([
  ...rules.map(({ id, why }) => [id, why] as const),
  ...places.map(({ id, kind }) => [id, kind] as const),
]);

export const ruleSentencesPath = fileURLToPath(
  new URL('../packages/words/src/english/rules.json', import.meta.url),
);
/** Sorted: the order of the tables depends on which of them is loaded first. */
export const ruleSentencesFile = `${JSON.stringify(Object.fromEntries([...ruleSentences].sort()), null, 2)}\n`;

if (argv[1] === fileURLToPath(import.meta.url)) writeFileSync(ruleSentencesPath, ruleSentencesFile);
