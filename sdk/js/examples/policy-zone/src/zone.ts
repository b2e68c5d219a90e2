/**
 * Holds while a whole failure domain is silent: then it is not the Machines that are broken, but their zone, their network,
 * or the API server's view of them, and replacing them would make it worse. A Machine of a domain that is calm is judged by
 * the default rule.
 */

import { type Domain, type Fields, LONG_MS, Policy, type Question, SettingsError, sickness, type Verdict } from 'machinist-sdk/policy';

import { version } from '../package.json';
import settingsSchema from './settings-schema.json';

/** What the operator may write. */
interface Settings {
  /** From this share of silent Machines on, a domain is silent. */
  silentPercent: number;
  /** Smaller domains say nothing: one of two is half of them. */
  leastMachines: number;
  /** How soon a domain that is silent is looked at again. */
  recheckSeconds: number;
}

const MOST_MACHINES = 2 ** 32 - 1;

export class Zone extends Policy<Settings> {
  override describe() {
    return { name: 'zone', version, settingsSchema };
  }

  override readSettings(fields: Fields): Settings {
    const [stray] = fields.unknown(['silentPercent', 'leastMachines', 'recheckSeconds']);
    if (stray !== undefined)
      throw new SettingsError(`${stray} is not a setting: there are silentPercent, leastMachines and recheckSeconds`);
    return {
      silentPercent: fields.wholeNumber('silentPercent', { least: 1, most: 100 }) ?? 50,
      leastMachines: fields.wholeNumber('leastMachines', { least: 2, most: MOST_MACHINES }) ?? 3,
      recheckSeconds: fields.wholeNumber('recheckSeconds', { least: 1, most: 3_600 }) ?? 30,
    };
  }

  override evaluate(question: Question, settings: Settings, now: number): Verdict {
    const sick = sickness(question, question.machine.mustBeFalse, now);
    if (!sick) return { health: 'healthy', reason: 'the Node is ready', holdsUntil: now + LONG_MS };
    const holdsUntil = now + settings.recheckSeconds * 1_000;
    if (isSilent(question.domain, settings)) {
      // Numbers would change with each Node, and the text with them.
      const reason = `at least ${settings.silentPercent} % of the Machines in ${place(question.domain)} are silent: held until that is over`;
      return { health: 'unknown', reason, holdsUntil };
    }
    return { health: 'unhealthy', since: sick.since, reason: sick.because, action: 'replace', holdsUntil };
  }
}

function isSilent({ machines, silent }: Domain, { leastMachines, silentPercent }: Settings): boolean {
  return machines >= leastMachines && silent * 100 >= silentPercent * machines;
}

function place({ name }: Domain): string {
  return name === undefined ? 'an unknown failure domain' : `failure domain ${name}`;
}
