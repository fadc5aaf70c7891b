/** Small models trained from scratch with an attention: what the experiment is made of. */
import {listTable, recordTable} from '../../results/tables/tables.js'
import {defineExperiment} from '../experiment.js'
import {trainCell, trainPlan, trainResult} from './schema.js'

const schemas = {cell: trainCell, result: trainResult}

/** What a model learns with a method. */
export default defineExperiment({
  name: 'train',
  title: 'training',
  version: 1,
  plan: trainPlan,
  ...schemas,
  isolation: 'shared',
  longestFirst: true,
  keepsCheckpoints: true,
  tables: [recordTable(schemas), listTable(schemas, 'curve')],
  grid: async plan => (await import('./grid.js')).trainGrid(plan),
  load: () => Promise.all([import('./grid.js'), import('./measure/cell.js')]),
  run: async (cell, context) => (await import('./measure/cell.js')).runTrainCell(cell, context),
  enlarged: async (plan, records) => (await import('./more-runs.js')).enlarged(plan, records),
  highlights: async records => (await import('./report/screen.js')).trainSentences(records),
  figures: async records => (await import('./report/figures.js')).trainFigures(records),
  screen: async records => (await import('./report/screen.js')).trainScreen(records),
  report: async records => (await import('./report/report.js')).trainReport(records),
})
