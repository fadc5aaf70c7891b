/** Bias and variance of kernel estimates: what the experiment is made of. */
import {itemTable} from '../../results/tables/tables.js'
import {defineExperiment} from '../experiment.js'
import {varianceCell, variancePlan, varianceResult} from './schema.js'

const schemas = {cell: varianceCell, result: varianceResult}

/** Bias and variance of kernel estimates of pairs of vectors, against their closed forms. */
export default defineExperiment({
  name: 'variance',
  title: 'a variance experiment',
  version: 2,
  plan: variancePlan,
  ...schemas,
  isolation: 'shared',
  tables: [itemTable(schemas, 'per_projection')],
  grid: async plan => (await import('./grid.js')).varianceGrid(plan),
  load: () => Promise.all([import('./grid.js'), import('./measure/cell.js')]),
  run: async (cell, context) => (await import('./measure/cell.js')).runVarianceCell(cell, context),
  verdicts: async records => (await import('./report/verdicts.js')).varianceVerdicts(records),
  highlights: async records => {
    const [{varianceAnswers}, {judgeMethods}] = await Promise.all([
      import('./report/answers.js'),
      import('./report/verdicts.js'),
    ])
    return varianceAnswers(judgeMethods(records))
  },
  figures: async records => (await import('./report/figures.js')).varianceFigures(records),
  comparison: async () => (await import('./report/comparison.js')).varianceComparison,
  screen: async records => (await import('./report/screen.js')).varianceScreen(records),
  report: async records => (await import('./report/report.js')).varianceReport(records),
})
