/** Heads of an input as a table, and what their norms mean for random features. */
import {type Block, heading, list, table, text} from '../../../report/document.js'
import {MISSING, significant} from '../../../report/numbers.js'
import type {InputsRecord} from '../schema.js'
import {failures, featuresSpan, type HeadRow, headRows, inputTitle, keysOf} from './heads.js'

/** The heads of all layers, and what failed. */
export function inputsReport(records: readonly InputsRecord[]): Block[] {
  if (records.length === 0) return []
  const rows = headRows(records)
  return [
    heading(2, inputTitle(records)),
    ...(rows.length > 0 ? headBlocks(rows) : []),
    ...list(failures(records)),
  ]
}

function headBlocks(rows: readonly HeadRow[]): Block[] {
  const count = featuresSpan(rows)
  return [
    ...(count === undefined
      ? []
      : [
          text(
            `A kernel entry of positive features has less noise than value for 95 % of the attention from ${count} random vectors on, by head.`,
          ),
        ]),
    headTable(rows),
    text(
      'x, y: queries and keys times the root of the logit scale. angle: between them, in degrees. keys: over how many keys a row of exact attention spreads its weight (exp of its entropy), of how many. M: exp(|x+y|^2) that 95 % of the attention does not exceed.',
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
      {title: 'layer', cell: ({layer}) => String(layer), tells: ({layer}) => layer !== undefined},
      {title: 'head', cell: ({head}) => String(head)},
      number('E|x|^2', ({statistics}) => statistics.query_norm2),
      number('E|y|^2', ({statistics}) => statistics.key_norm2),
      number('E|x+y|^2', ({statistics}) => statistics.sum_norm2),
      {title: 'angle', cell: ({angle_deg}) => angle_deg?.toFixed(0) ?? MISSING},
      number('keys', keysOf),
      number('of', ({statistics}) => Math.exp(statistics.max_entropy_nats)),
      {title: 'M', cell: row => featuresSpan([row]) ?? MISSING},
    ],
    rows,
  )
}
