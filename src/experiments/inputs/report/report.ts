/** Heads of an input as a table, and what their norms mean for random features. */
import {type Block, heading, list, table, text} from '../../../report/document.js'
import {spanOf} from '../../../report/groups.js'
import {MISSING, significant} from '../../../report/numbers.js'
import {causalLabel, inputLabel} from '../../labels.js'
import type {CompletedInputs, InputsRecord} from '../schema.js'

/** A line of the table. */
type HeadRow = CompletedInputs['result']['per_head'][number] & {layer: number | undefined}

/** The heads of all layers, and what failed. */
export function inputsReport(records: readonly InputsRecord[]): Block[] {
  const [first] = records
  if (!first) return []
  const {input, causal} = first.cell
  const done = records.filter(record => record.status === 'completed')
  const sizes = new Set(
    done.map(
      ({result: {heads, query_len, key_len, head_dim}}) =>
        `${heads} heads, L=${query_len}, S=${key_len}, D=${head_dim}`,
    ),
  )
  const rows = done.flatMap(({cell: {layer}, result}): HeadRow[] =>
    result.per_head.map(head => ({layer, ...head})),
  )
  return [
    heading(2, `${inputLabel(input)}: ${[...sizes, causalLabel(causal, null)].join(', ')}`),
    ...(rows.length > 0 ? headBlocks(rows) : []),
    ...list(
      records.flatMap(({cell: {layer}, ...record}) =>
        record.status === 'failed'
          ? [`${layer === undefined ? '' : `layer ${layer} `}failed: ${record.error.message}`]
          : [],
      ),
    ),
  ]
}

function headBlocks(rows: readonly HeadRow[]): Block[] {
  const [least, most] = spanOf(rows.map(log10Features)).map(powerOf10)
  const needed = least === most ? least : `${least} to ${most}`
  return [
    text(
      `At a typical pair, a kernel estimate by positive features exceeds its noise from about ${needed} random vectors on${least === most ? '' : ', depending on the head'}.`,
    ),
    headTable(rows),
    text(
      'x, y: queries and keys times the root of the logit scale. angle: between them, in degrees. keys: over how many keys a row of exact attention spreads its weight (exp of its entropy), of how many. M: exp(E|x+y|^2).',
    ),
  ]
}

function headTable(rows: readonly HeadRow[]): Block {
  const number = (title: string, read: (row: HeadRow) => number) => ({
    title,
    cell: (row: HeadRow) => significant(read(row)),
  })
  return table<HeadRow>(
    [
      {
        title: 'layer',
        cell: ({layer}) => String(layer),
        tells: ({layer}) => layer !== undefined,
      },
      {title: 'head', cell: ({head}) => String(head)},
      number('E|x|^2', ({statistics}) => statistics.query_norm2),
      number('E|y|^2', ({statistics}) => statistics.key_norm2),
      number('E|x+y|^2', ({statistics}) => statistics.sum_norm2),
      {title: 'angle', cell: ({angle_deg}) => angle_deg?.toFixed(0) ?? MISSING},
      number('keys', ({statistics}) => Math.exp(statistics.entropy_nats)),
      number('of', ({statistics}) => Math.exp(statistics.max_entropy_nats)),
      {title: 'M', cell: row => powerOf10(log10Features(row))},
    ],
    rows,
  )
}

/** The relative variance of a positive feature is about `exp(|x+y|^2) / M`: the M at which it is 1. */
function log10Features({statistics}: HeadRow): number {
  return statistics.sum_norm2 / Math.LN10
}

function powerOf10(log: number): string {
  return `10^${log < 1000 ? log.toFixed(1) : significant(log)}`
}
