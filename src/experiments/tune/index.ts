/** Learning a method's parameters on a layer's own queries, keys and values: what the experiment is made of. */
import {listTable, recordTable} from '../../results/tables/tables.js'
import {defineExperiment} from '../experiment.js'
import {tuneCell, tunePlan, tuneResult} from './schema.js'

const schemas = {cell: tuneCell, result: tuneResult}

/** A method that learns from a layer what its outputs should have been. */
export default defineExperiment({
  name: 'tune',
  title: 'learning',
  version: 1,
  plan: tunePlan,
  ...schemas,
  isolation: 'shared',
  keepsParts: true,
  tables: [recordTable(schemas), listTable(schemas, 'errors'), listTable(schemas, 'curve')],
  grid: async plan => (await import('./grid.js')).tuneGrid(plan),
  load: () => Promise.all([import('./grid.js'), import('./measure/cell.js')]),
  run: async (cell, context) => (await import('./measure/cell.js')).runTuneCell(cell, context),
  save: async (records, directory) => (await import('./save.js')).saveTuned(records, directory),
  highlights: async records => (await import('./report/screen.js')).tuneSentences(records),
  figures: async records => (await import('./report/figures.js')).tuneFigures(records),
  screen: async records => (await import('./report/screen.js')).tuneScreen(records),
  report: async records => (await import('./report/report.js')).tuneReport(records),
})
