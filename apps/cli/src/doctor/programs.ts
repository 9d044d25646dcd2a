import {
  addPrograms,
  checkShownFolders,
  findProgramOffers,
  type PersonsFolders,
  type ProgramOffer,
  personsFolders,
  readRunnerSettings,
  workspaceAt,
} from '@countersign/tool-runner';
import type { Environment } from '../command-context.ts';
import type { Words } from '../words.ts';
import type { Check } from './checks.ts';

interface Place {
  readonly root: string;
  readonly env: Environment;
}

/** What `runner.json` lists for commands, and what it could list. Throws USAGE for a file that the runner refuses. */
function lookAtPrograms({ root, env }: Place) {
  const folders = personsFolders(env);
  const { home, stateFolder } = workspaceAt(root, { folders });
  const forbidden = { root, home, stateFolder, configFolder: folders.config };
  const { readable, path } = readRunnerSettings(folders.config, root);
  const listed = { readable, path };
  const offers = process.platform === 'linux' ? findProgramOffers({ forbidden, listed, path: env.PATH }) : [];
  return { folders, listed, offers, checks: checkShownFolders([...path, ...readable], forbidden) };
}

/** Programs that the person has and that commands do not see (RN-5); empty if that is unknown. */
export function hiddenPrograms(place: Place): readonly ProgramOffer[] {
  try {
    return lookAtPrograms(place).offers;
  } catch {
    return [];
  }
}

/** The hidden programs to mention once; empty if the person has listed any program already. */
export function programsToMention(place: Place): readonly ProgramOffer[] {
  try {
    const { listed, offers } = lookAtPrograms(place);
    return listed.path.length + listed.readable.length === 0 ? offers : [];
  } catch {
    return [];
  }
}

/** Lists all hidden programs in `runner.json`. */
export function addHiddenPrograms(place: Place): {
  readonly file: string;
  readonly offers: readonly ProgramOffer[];
} {
  const { folders, offers } = lookAtPrograms(place);
  const file = offers.length === 0 ? fileOf(folders) : addPrograms(folders.config, place.root, offers);
  return { file, offers };
}

const fileOf = ({ config }: PersonsFolders): string => `${config}/runner.json`;

export function programChecks(place: Place, { doctor, said }: Words): Check[] {
  const name = doctor.programs;
  try {
    const { listed, offers, checks } = lookAtPrograms(place);
    const problems = checks.flatMap((check): Check[] => {
      if (check.state === 'shown') return [];
      if (check.state === 'refused')
        return [{ name, state: 'missing', says: doctor.folderRefused(check.path, said(check.problem)) }];
      const says = doctor[check.state === 'missing' ? 'folderMissing' : 'folderInWorkspace'](check.path);
      return [{ name, state: 'warning', says }];
    });
    const remedy = 'countersign doctor --add-programs';
    const hidden = offers.map(
      (offer): Check => ({ name, state: 'warning', says: offerText(offer, doctor), remedy }),
    );
    const entries = [...new Set([...listed.path, ...listed.readable])];
    const says = entries.length === 0 ? doctor.programsAllSeen : doctor.programsListed(entries.join(', '));
    const isWell = problems.length + hidden.length === 0 || entries.length > 0;
    return [...(isWell ? [{ name, state: 'ok', says } as const] : []), ...problems, ...hidden];
  } catch (error) {
    return [{ name, state: 'missing', says: said(error as Error) }];
  }
}

const MAX_NAMED = 5;

function offerText(
  { from, programs }: ProgramOffer,
  { programsHidden, pythonHidden }: Words['doctor'],
): string {
  const named = programs.slice(0, MAX_NAMED).join(', ');
  return programs.length === 0
    ? pythonHidden(from)
    : programsHidden(from, named, Math.max(programs.length - MAX_NAMED, 0));
}
