/** What queries and keys are like, head by head: what the experiment is made of. */
import {itemTable} from '../../results/tables/tables.js'
import {defineExperiment} from '../experiment.js'
import {inputsCell, inputsPlan, inputsResult} from './schema.js'

const schemas = {cell: inputsCell, result: inputsResult}

/** Norms, angles and entropies of the heads of a file. */
export default defineExperiment({
  name: 'inputs',
  title: 'a look at an input',
  version: 1,
  plan: inputsPlan,
  ...schemas,
  isolation: 'shared',
  tables: [itemTable(schemas, 'per_head')],
  grid: async plan => (await import('./grid.js')).inputsGrid(plan),
  run: async (cell, context) => (await import('./measure/cell.js')).runInputsCell(cell, context),
  screen: async records => (await import('./report/screen.js')).inputsScreen(records),
  report: async records => (await import('./report/report.js')).inputsReport(records),
})
