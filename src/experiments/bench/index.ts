import {recordTable} from '../../results/tables.js'
import {defineExperiment} from '../experiment.js'
import {benchCell, benchPlan, benchResult} from './schema.js'

/** Time and memory of forward passes, each method at each length in a process of its own. */
export default defineExperiment({
  name: 'bench',
  title: 'a benchmark',
  version: 1,
  plan: benchPlan,
  cell: benchCell,
  result: benchResult,
  isolation: 'fresh',
  // single times stand in the journal
  tables: [recordTable({cell: benchCell, result: benchResult, omit: ['samples_ns']})],
  cells: async plan => (await import('./grid.js')).benchCells(plan),
  jobs: async plan => (await import('./grid.js')).benchJobs(plan),
  run: async (cell, context) => (await import('./cell.js')).runBenchCell(cell, context),
  report: async records => (await import('./report.js')).benchReport(records),
})
