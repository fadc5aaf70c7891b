/** The report of error-predictions.ts as text. */
import {type ColumnSpec, table, text} from '../src/report/document.js'
import {significant} from '../src/report/numbers.js'
import {renderTerminal} from '../src/report/terminal.js'
import type {Judged, Judgement} from './error-prediction-rules.js'

/** RMSE and worst. */
function judgement(title: string, read: (row: Judged) => Judgement | null): ColumnSpec<Judged> {
  return {
    title,
    cell: row => {
      const own = read(row)
      return own ? `${significant(own.rmse, 2)} ${significant(own.worst, 2)}` : '-'
    },
  }
}

const COLUMNS: readonly ColumnSpec<Judged>[] = [
  {title: 'inputs', align: 'left', cell: row => row.group},
  {title: 'method', align: 'left', cell: row => row.method},
  {title: 'projection', align: 'left', cell: row => row.projection},
  {title: 'heads x M', cell: row => `${row.points}`},
  judgement('predicted', row => row.prediction),
  {
    title: 'mean',
    cell: row => (row.prediction ? significant(row.prediction.mean, 2) : '-'),
  },
  judgement('carried on', row => row.carried),
  judgement('rule', row => row.rule),
  judgement('regression', row => row.regression),
]

const LEGEND = [
  'log10 of predicted over measured rel L2: root mean square, then the largest.',
  'predicted: from the input alone, nothing fitted. carried on: from M=256 to 4096, scaled to what was measured at 256.',
  'rule: square root of the relative kernel variance at the mean norm, at most 1, times a factor.',
  'regression: linear in E|x+y|^2 and ln M. Both are fitted for each method on the fitted layers.',
].join(' ')

export function errorPredictionsText(rows: readonly Judged[]): string {
  return renderTerminal([table(COLUMNS, rows), text(LEGEND)], {width: 120, colour: false})
}
