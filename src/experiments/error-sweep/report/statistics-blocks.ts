import type {InputStatistics} from '../../../inputs/statistics.js'
import {type Block, heading, table, text} from '../../../report/document.js'
import {significant} from '../../../report/numbers.js'
import type {CompletedSweep} from '../schema.js'

/** A line of the statistics table: one head, or all of them. */
interface HeadRow {
  layer: number | undefined
  /** Index of the head, or `all` for the mean over heads. */
  head: string
  statistics: InputStatistics
}

/** Heads of one layer. With one head the line for all would only repeat it. */
function headRows({cell: {layer}, result: {per_head, statistics}}: CompletedSweep): HeadRow[] {
  const heads = per_head.map(({head, statistics}) => ({layer, head: String(head), statistics}))
  return heads.length > 1 ? [...heads, {layer, head: 'all', statistics}] : heads
}

/**
 * Norms and entropy per head.
 *
 * @param firsts - the first record of each layer: every method of a section saw the same arrays
 */
export function statisticsBlocks(firsts: readonly CompletedSweep[]): Block[] {
  const rows = firsts.flatMap(headRows)
  const number = (title: string, read: (own: InputStatistics) => number) => ({
    title,
    cell: (row: HeadRow) => significant(read(row.statistics)),
  })
  return [
    heading(3, 'Inputs, canonical x and y (entropy of the exact rows in nats)'),
    {
      ...table<HeadRow>(
        [
          {
            title: 'layer',
            cell: ({layer}) => String(layer),
            tells: () => firsts.length > 1,
          },
          {title: 'head', cell: ({head}) => head},
          number('E|x|^2', own => own.query_norm2),
          number('E|y|^2', own => own.key_norm2),
          number('E|x+y|^2', own => own.sum_norm2),
          number('E|x-y|^2', own => own.difference_norm2),
          number('entropy', own => own.entropy_nats),
          number('maximum', own => own.max_entropy_nats),
        ],
        rows,
      ),
      labels: firsts.length > 1 ? 2 : 1,
    },
    text(
      'Relative variance of one kernel estimate, about: exp(|x+y|^2) / M of positive features, exp(|x-y|^2) / 2M of sin/cos.',
    ),
  ]
}
