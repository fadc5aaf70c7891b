/** The report of error-predictions.ts as text. */
import {type ColumnSpec, table, text} from '../src/report/document.js'
import {significant} from '../src/report/numbers.js'
import {renderTerminal} from '../src/report/terminal.js'

/** Cells of one scale. */
export interface Judged {
  scale: number
  cells: number
  /** Root mean square, mean and largest size of log10 of predicted over measured. */
  rmse: number
  mean: number
  worst: number
  /** The largest one by its cell. */
  worstCell: string
  /** Share of cells without a prediction. */
  withheld: number
}

/** Of predictions at 1024 tokens. */
export interface Times {
  name: string
  cpuSecondsPerHead: number
}

const COLUMNS: readonly ColumnSpec<Judged>[] = [
  {title: 'scale', cell: row => `${row.scale}`},
  {title: 'cells', cell: row => `${row.cells}`},
  {title: 'RMSE', cell: row => significant(row.rmse)},
  {title: 'mean', cell: row => significant(row.mean)},
  {title: 'worst', cell: row => significant(row.worst)},
  {title: 'withheld %', cell: row => significant(100 * row.withheld)},
  {title: 'worst cell', align: 'left', cell: row => row.worstCell},
]

const LEGEND =
  'RMSE, mean, worst: of log10 of predicted over measured rel L2, over all heads of a cell.'

export function errorPredictionsText(rows: readonly Judged[], times: readonly Times[]): string {
  const taken = times.map(
    ({name, cpuSecondsPerHead}) => `${name} ${significant(cpuSecondsPerHead)} s`,
  )
  const all =
    taken.length > 0 ? [text(`CPU time of a head at L=1024, D=64: ${taken.join(', ')}.`)] : []
  return renderTerminal([table(COLUMNS, rows), text(LEGEND), ...all], {width: 120, colour: false})
}
