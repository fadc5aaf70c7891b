/** The first screen of a look at an input: how hard it is for random features, and its heads or layers. */
import {type Block, type ColumnSpec, heading, list, table} from '../../../report/document.js'
import {evenly} from '../../../report/evenly.js'
import {groupBy, spanOf} from '../../../report/groups.js'
import {MISSING, plural, significant} from '../../../report/numbers.js'
import {fittedScreen} from '../../../report/screen.js'
import type {InputsRecord} from '../schema.js'
import {
  failures,
  featuresSpan,
  type HeadRow,
  headRows,
  inputTitle,
  isHuge,
  keysOf,
  productName,
} from './heads.js'

const MOST_FAILURES = 2

/** What is said of an input in at most 20 lines: its heads, or of several layers a line each. */
export function inputsScreen(records: readonly InputsRecord[]): Block[] {
  if (records.length === 0) return []
  const failed = failures(records)
  const notes = [
    ...failed.slice(0, MOST_FAILURES),
    ...(failed.length > MOST_FAILURES
      ? [`${plural(failed.length - MOST_FAILURES, 'more layer')} failed`]
      : []),
  ]
  const title = heading(2, inputTitle(records))
  const heads = headRows(records)
  if (heads.length === 0) return [title, ...list(notes)]
  const layers = groupBy(heads, ({layer}) => String(layer))
  const lines = layers.length > 1 ? layers : heads.map(head => [head])
  const noun = layers.length > 1 ? 'layer' : 'head'
  return fittedScreen({
    title,
    answer: answer(records, heads),
    rows: lines.length,
    table(count) {
      const left = lines.length - count
      const rest = left > 0 ? [`The details have ${plural(left, `more ${noun}`)}.`] : []
      return {blocks: [linesTable(evenly(lines, count))], below: rest}
    },
    notes,
  })
}

/** Whether the scale is in doubt, or from how many random vectors on positive features see attention; and how far it spreads. */
function answer(records: readonly InputsRecord[], heads: readonly HeadRow[]): string[] {
  const keys = spanText(heads.map(keysOf))
  const all = spanText(heads.map(({statistics}) => Math.exp(statistics.max_entropy_nats)))
  return [
    ...noiseSentence(records, heads),
    `Exact attention spreads its weight over ${keys} of ${all} keys.`,
  ]
}

function noiseSentence(records: readonly InputsRecord[], heads: readonly HeadRow[]): string[] {
  const size = spanText(heads.map(({statistics}) => statistics.sum_norm2))
  if (heads.some(isHuge)) {
    return [
      `Logits are huge (s, the mean ${productName(records)}, is ${size}): is their scale right?`,
    ]
  }
  const count = featuresSpan(heads)
  if (count === undefined) return []
  return [
    `Positive features take ${count} random vectors (M), by head, until the noise of a kernel entry is below its value for 95 % of the attention. s is the mean ${productName(records)}.`,
  ]
}

/** `46`, or `46 to 94`. */
function spanText(values: readonly number[], between = ' to '): string {
  const [low, high] = spanOf(values).map(value => significant(value, 2))
  return low === high ? low! : `${low}${between}${high}`
}

/** A line for each head, or for each layer from the least of its heads to the largest. */
function linesTable(lines: readonly (readonly HeadRow[])[]): Block {
  const own = (title: string, of: (head: HeadRow) => number): ColumnSpec<readonly HeadRow[]> => ({
    title,
    cell: heads => spanText(heads.map(of), '-'),
  })
  const single = lines.every(heads => heads.length === 1)
  const layers = new Set(lines.flat().map(({layer}) => layer)).size
  return table<readonly HeadRow[]>(
    [
      {
        title: 'layer',
        cell: ([first]) => String(first!.layer),
        tells: ([first]) => first!.layer !== undefined && (layers > 1 || !single),
      },
      ...(single && layers <= 1
        ? [{title: 'head', cell: ([first]: readonly HeadRow[]) => String(first!.head)}]
        : []),
      own('s', ({statistics}) => statistics.sum_norm2),
      {
        title: 'M',
        cell: heads => (heads.some(isHuge) ? MISSING : (featuresSpan(heads, '-') ?? MISSING)),
      },
      {title: 'angle of q, k', cell: heads => anglesText(heads)},
      own('keys', keysOf),
    ],
    lines,
  )
}

/** In degrees. */
function anglesText(heads: readonly HeadRow[]): string {
  const angles = heads.flatMap(({angle_deg}) => angle_deg ?? [])
  const [low, high] = spanOf(angles).map(angle => angle.toFixed(0))
  if (angles.length === 0) return MISSING
  return low === high ? low! : `${low}-${high}`
}
