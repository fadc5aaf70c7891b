/** Time and memory: what the experiment is made of. */
import {type Row, recordTable, requestedTable, rowTable} from '../../results/tables/tables.js'
import {defineExperiment} from '../experiment.js'
import {type Breakdown, partRow} from './fields/breakdown.js'
import {markRow} from './fields/token-marks.js'
import {sharingKey, splitCell, trialOf} from './measure/process-cells.js'
import {soFarText} from './measure/so-far.js'
import {sampleRow, sampleRows} from './report/tables/samples.js'
import {type BenchResult, benchCell, benchPlan, benchResult} from './schema.js'

const partsOf = (result: Row) => ((result.breakdown as Breakdown | undefined)?.parts ?? []) as Row[]

const tabled = {
  cell: benchCell,
  result: benchResult,
  omit: ['samples_ns', 'run_waits_ns', 'turn_runs', 'process_turns'],
}

/** Time and memory of forward passes, or of decoding, each method at each length in separate processes. */
export default defineExperiment({
  name: 'bench',
  title: 'a benchmark',
  version: 1,
  plan: benchPlan,
  cell: benchCell,
  result: benchResult,
  isolation: 'fresh',
  // single times stand in the journal, and in a separate table on request
  tables: [
    recordTable(tabled),
    rowTable(tabled, 'marks', markRow, ({marks = []}) => marks as Row[]),
    rowTable(tabled, 'breakdown', partRow, result => partsOf(result)),
    requestedTable('samples', sampleRow, result => sampleRows(result as BenchResult)),
  ],
  check: async ({peers}) => {
    if (peers) await (await import('./measure/peers/peer-process.js')).requirePeers(peers)
  },
  grid: async plan => (await import('./grid.js')).benchGrid(plan),
  load: () => Promise.all([import('./grid.js'), import('./measure/cell.js')]),
  run: async (cell, context) => (await import('./measure/cell.js')).runBenchCell(cell, context),
  processes: {
    split: splitCell,
    trial: trialOf,
    sharingKey,
    merge: async (results, trial) =>
      (await import('./measure/merge.js')).mergeProcesses(results, trial),
  },
  soFar: soFarText,
  findings: async records => (await import('./report/figures/fits.js')).benchFindings(records),
  highlights: async records => {
    const {benchAnswers, benchView} = await import('./report/answers.js')
    return benchAnswers(benchView(records))
  },
  times: async records =>
    (await import('./report/tables/measured-times.js')).measuredTimes(records),
  figures: async records => (await import('./report/figures/figures.js')).benchFigures(records),
  comparison: async () => (await import('./report/comparison.js')).benchComparison,
  screen: async records => (await import('./report/screen.js')).benchScreen(records),
  report: async records => (await import('./report/report.js')).benchReport(records),
})
