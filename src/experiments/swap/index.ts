/** What exchanged attention does to a pretrained model: what the experiment is made of. */
import {listTable, recordTable} from '../../results/tables/tables.js'
import {defineExperiment} from '../experiment.js'
import {swapCell, swapPlan, swapResult} from './schema.js'

const schemas = {cell: swapCell, result: swapResult}

/** A pretrained model with its attention exchanged. */
export default defineExperiment({
  name: 'swap',
  title: 'a swap',
  version: 1,
  plan: swapPlan,
  ...schemas,
  isolation: 'shared',
  tables: [
    recordTable(schemas),
    ...['positions', 'tried_sets', 'parts'].map(list => listTable(schemas, list)),
  ],
  grid: async plan => (await import('./grid.js')).swapGrid(plan),
  load: () => Promise.all([import('./grid.js'), import('./measure/cell.js')]),
  run: async (cell, context) => (await import('./measure/cell.js')).runSwapCell(cell, context),
  highlights: async records => (await import('./report/screen.js')).swapSentences(records),
  figures: async records => (await import('./report/figures.js')).swapFigures(records),
  screen: async records => (await import('./report/screen.js')).swapScreen(records),
  report: async records => (await import('./report/report.js')).swapReport(records),
})
