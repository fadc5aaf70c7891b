/** Rows without a measured mean or variance, by quantiles of their draws. */
import {type Block, type ColumnSpec, heading, table, text} from '../../../report/document.js'
import {significant} from '../../../report/numbers.js'
import {methodLabel} from '../../labels.js'
import type {LogSummary} from '../measure/logarithms.js'
import {rowsText} from '../pair-text.js'
import type {CompletedVariance} from '../schema.js'
import {pairColumns} from './report-pairs.js'

interface Tail {
  cell: CompletedVariance['cell']
  projection: string
  logarithms: LogSummary
}

const LEGEND =
  'Estimates over the kernel: what a single draw gives. A mean is made by draws that are rarer than any of these: where the median ' +
  'is well below 1, nearly all draws fall short. mean ln: mean of the logarithm of that.'

/** The table of heavy tails, where there are some. */
export function tailBlocks(records: readonly CompletedVariance[]): Block[] {
  const rows = records.flatMap(({cell, result}) =>
    result.per_projection.flatMap((own): Tail[] =>
      own.logarithms ? [{cell, projection: rowsText(own), logarithms: own.logarithms}] : [],
    ),
  )
  if (rows.length === 0) return []
  const title = 'Heavy-tailed: means are not to be trusted'
  return [heading(2, title), table(COLUMNS, rows), text(LEGEND)]
}

/** The estimate over the kernel. */
function ratioText(log: number | null): string {
  return significant(log === null ? null : Math.exp(log))
}

const COLUMNS: readonly ColumnSpec<Tail>[] = [
  {title: 'method', align: 'left', cell: ({cell}) => methodLabel(cell)},
  {title: 'projection', align: 'left', cell: ({projection}) => projection},
  {title: 'D', priority: 2, cell: ({cell}) => String(cell.head_dim)},
  {title: 'M', priority: 2, cell: ({cell}) => String(cell.num_features)},
  ...pairColumns<Tail>(),
  {title: 'draws', priority: 1, cell: ({logarithms}) => String(logarithms.draws)},
  {title: '5 %', cell: ({logarithms}) => ratioText(logarithms.low)},
  {title: 'median', cell: ({logarithms}) => ratioText(logarithms.median)},
  {title: '95 %', cell: ({logarithms}) => ratioText(logarithms.high)},
  {title: 'mean ln', cell: ({logarithms}) => significant(logarithms.mean)},
]
