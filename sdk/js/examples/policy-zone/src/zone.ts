/**
 * Answers unknown while a whole failure domain is silent. Then the zone, its network, or the API server's view of the
 * Machines is broken, and replacing the Machines would make it worse. The default rule judges Machines of other
 * domains.
 */

import { type Domain, type Fields, LONG_MS, Policy, type Question, SettingsError, sickness, type Verdict } from 'machinist-sdk/policy';

import { version } from '../package.json';
import settingsSchema from './settings-schema.json';

/** The operator's settings. */
interface Settings {
  /** The share of silent Machines from which a domain is silent. */
  silentPercent: number;
  /** Smaller domains never count as silent: one of two is half of them. */
  leastMachines: number;
  /** The time until the next check of a silent domain. */
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
      // The text has no numbers that change with each Node.
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
