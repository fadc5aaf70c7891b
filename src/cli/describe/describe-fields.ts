import {claimTableColumns} from '../../claims/tables.js'
import {comparisonColumns} from '../../compare/schema.js'
import {unknownName} from '../../errors.js'
import {allExperiments} from '../../experiments/index.js'
import type {Block} from '../../report/document.js'
import {factsOfTable, fieldsReport, type TableFacts, tableFacts} from '../../report/fields.js'
import {TABLE_OWNERS} from './table-owners.js'

/**
 * The columns of the tables that are saved.
 *
 * @param name - an experiment, or a command that writes tables of its own; all when not given
 * @throws {UNKNOWN_NAME} for one that is neither
 */
export async function describeFields(
  name: string | undefined,
): Promise<{blocks: Block[]; tables: TableFacts[]}> {
  const all = [
    ...(await allExperiments()).flatMap(tableFacts),
    ...claimTableColumns().map(table => factsOfTable('claims', table)),
    factsOfTable('compare', {file: 'FILE.csv', flag: 'output', columns: comparisonColumns()}),
  ]
  const tables = all.filter(({experiment}) => name === undefined || experiment === name)
  if (tables.length === 0) throw unknownName('--records', 'tables', name!, TABLE_OWNERS)
  return {blocks: fieldsReport(tables), tables}
}
