/** Error of every estimator against exact attention: what the experiment is made of. */
import {listTable, recordTable, rowTable} from '../../results/tables/tables.js'
import {defineExperiment} from '../experiment.js'
import {
  REPLICATE_PATHS,
  type ReplicateMetrics,
  replicateColumns,
  replicateRows,
} from './replicate-metrics.js'
import {
  type ErrorSweepResult,
  errorSweepCell,
  errorSweepPlan,
  errorSweepResult,
  HEAVY_LISTS,
  positionResult,
  VERSION,
} from './schema.js'

const schemas = {cell: errorSweepCell, result: errorSweepResult}
/** Cells of files leave the length open; tables show the one that was used. */
const tabled = {...schemas, used: {seq_len: 'query_len'}, omit: REPLICATE_PATHS}

/** Replicates over all heads: those of each head are in the journal. */
const replicateTable = rowTable(tabled, 'replicates', replicateColumns, result =>
  replicateRows(result.replicate_metrics as ReplicateMetrics),
)

/** Errors by position, of causal attention. */
const positionTable = rowTable(
  tabled,
  'positions',
  positionResult,
  result => (result.query_errors_by_position as ErrorSweepResult['query_errors_by_position']) ?? [],
)

/** Error of every estimator against exact attention, over many draws. */
export default defineExperiment({
  name: 'error-sweep',
  title: 'an error sweep',
  version: VERSION,
  plan: errorSweepPlan,
  ...schemas,
  isolation: 'shared',
  heavyLists: HEAVY_LISTS,
  tables: [recordTable(tabled), listTable(tabled, 'per_head'), replicateTable, positionTable],
  grid: async plan => (await import('./grid.js')).errorSweepGrid(plan),
  check: async plan => (await import('./grid.js')).checkErrorSweep(plan),
  load: () => Promise.all([import('./grid.js'), import('./measure/cell.js')]),
  run: async (cell, context) =>
    (await import('./measure/cell.js')).runErrorSweepCell(cell, context),
  verdicts: async records =>
    (await import('./report/tables/paired.js')).errorSweepVerdicts(records),
  highlights: async records =>
    (await import('./report/sentences/answer.js')).errorSweepHighlights(records),
  errors: async records =>
    (await import('./report/figures/measured-errors.js')).measuredErrors(records),
  figures: async (records, x) =>
    (await import('./report/figures/figures.js')).errorSweepFigures(records, x),
  comparison: async () => (await import('./report/errors/comparison.js')).errorSweepComparison,
  screen: async records => (await import('./report/screen.js')).errorSweepScreen(records),
  report: async records => (await import('./report/report.js')).errorSweepReport(records),
  earlier: async () => (await import('./earlier.js')).asPresentRecord,
})
