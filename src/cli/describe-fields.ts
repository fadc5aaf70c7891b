import {unknownName} from '../errors.js'
import {allExperiments, EXPERIMENT_NAMES} from '../experiments/index.js'
import type {Block} from '../report/document.js'
import {fieldsReport, type TableFacts, tableFacts} from '../report/fields.js'

/**
 * The columns of the tables that runs save.
 *
 * @param name - an experiment; all when not given
 * @throws {UNKNOWN_NAME} for one that is not in the registry
 */
export async function describeFields(
  name: string | undefined,
): Promise<{blocks: Block[]; tables: TableFacts[]}> {
  const experiments = await allExperiments()
  const shown = experiments.filter(own => name === undefined || own.name === name)
  if (shown.length === 0) throw unknownName('--records', 'experiments', name!, EXPERIMENT_NAMES)
  const tables = shown.flatMap(tableFacts)
  return {blocks: fieldsReport(tables), tables}
}
