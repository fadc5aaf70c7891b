import {listTable, recordTable} from '../../results/tables.js'
import {defineExperiment} from '../experiment.js'
import {asPresentRecord} from './earlier.js'
import {errorSweepCell, errorSweepPlan, errorSweepResult} from './schema.js'

const schemas = {cell: errorSweepCell, result: errorSweepResult}

/** Error of every estimator against exact attention, over many draws. */
export default defineExperiment({
  name: 'error-sweep',
  title: 'an error sweep',
  version: 3,
  plan: errorSweepPlan,
  ...schemas,
  isolation: 'shared',
  tables: [recordTable(schemas), listTable(schemas, 'per_head')],
  cells: async plan => (await import('./grid.js')).errorSweepCells(plan),
  jobs: async plan => (await import('./grid.js')).errorSweepJobs(plan),
  check: async plan => (await import('./grid.js')).checkErrorSweep(plan),
  run: async (cell, context) => (await import('./cell.js')).runErrorSweepCell(cell, context),
  report: async records => (await import('./report.js')).errorSweepReport(records),
  earlier: asPresentRecord,
})
