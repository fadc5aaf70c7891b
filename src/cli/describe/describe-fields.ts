import {claimTableColumns} from '../../claims/report/tables.js'
import {historyColumns} from '../../compare/history-report.js'
import {comparisonColumns} from '../../compare/report.js'
import {unknownName} from '../../errors.js'
import {allExperiments} from '../../experiments/index.js'
import type {Block} from '../../report/document.js'
import {factsOfTable, fieldsReport, type TableFacts, tableFacts} from '../../report/fields.js'

/**
 * The columns of the tables that are saved.
 *
 * @param names - experiments, and commands that write other tables. Default: all
 * @throws {UNKNOWN_NAME} for one that is neither
 */
export async function describeFields(
  names: readonly string[] = [],
): Promise<{blocks: Block[]; tables: TableFacts[]}> {
  const all = [
    ...(await allExperiments()).flatMap(tableFacts),
    ...claimTableColumns().map(table => factsOfTable('claims', table)),
    factsOfTable('compare', {file: 'FILE.csv', flag: 'output', columns: comparisonColumns()}),
    factsOfTable('history', {file: 'FILE.csv', flag: 'output', columns: historyColumns()}),
  ]
  const owners = [...new Set(all.map(({experiment}) => experiment))]
  const strange = names.find(name => !owners.includes(name))
  if (strange !== undefined) throw unknownName('--records', 'tables', strange, owners)
  const tables = all.filter(({experiment}) => names.length === 0 || names.includes(experiment))
  return {blocks: fieldsReport(tables), tables}
}
