/** All of what was learned: held-out errors of layers and heads, and how learning went. */
import {type Block, type ColumnSpec, heading, list, table, text} from '../../../report/document.js'
import {MISSING, significant} from '../../../report/numbers.js'
import {mean} from '../../../stats/index.js'
import {backendItems, troubleItems} from '../../labels.js'
import {type CompletedTune, type TuneRecord, VARIANTS} from '../schema.js'
import {layersOf, relL2, variantRows} from './rows.js'
import {columnsOf, meaning, titleOf, tuneSentences} from './screen.js'

export function tuneReport(records: readonly TuneRecord[]): Block[] {
  const rows = records.filter(record => record.status === 'completed')
  if (rows.length === 0) return list(troubleItems(records))
  return [
    heading(2, titleOf(rows)),
    text(tuneSentences(records).join(' ')),
    table(columnsOf(rows), variantRows(rows)),
    text(
      `Held-out errors, %: ${meaning(rows)} They are root mean squares over layers and draws. best temperature: one factor on queries and keys of a head, by search. oprf and saderf have closed forms: their statistics come from tokens that were learned on. averaging V and a zero output look at neither queries nor keys. The held-out tokens also choose the step with which learning ends.`,
    ),
    heading(3, 'How learning went'),
    table(cellColumns(rows), rows),
    ...layersOf(rows).flatMap(([layer, own]) => headTable(layer, own)),
    ...list([...backendItems(rows), ...troubleItems(records)]),
  ]
}

function cellColumns(rows: readonly CompletedTune[]): ColumnSpec<CompletedTune>[] {
  const errorOf = (row: CompletedTune, variant: 'untuned' | 'tuned') =>
    percentOf(relL2([row], variant) ?? Number.NaN)
  return [
    {title: 'layer', cell: ({cell}) => String(cell.layer ?? MISSING), sparse: true},
    {
      title: 'draw',
      cell: ({cell}) => String(cell.draw ?? 'all'),
      tells: () => rows.some(({cell}) => cell.draw !== null),
    },
    {title: 'before, %', cell: row => errorOf(row, 'untuned')},
    {title: 'after', cell: row => errorOf(row, 'tuned')},
    rows[0]!.cell.loss === 'rows'
      ? {title: 'learned on, nats', cell: ({result}) => significant(lastOf(result))}
      : {title: 'learned on, after', cell: ({result}) => percentOf(lastOf(result))},
    {title: 'steps', cell: ({result}) => String(result.steps_taken)},
    {title: 'best', cell: ({result}) => String(result.best_step)},
    {title: 'ended', align: 'left', cell: ({result}) => ENDS[result.stopped]},
    {title: 's', cell: ({result}) => significant(result.seconds, 2)},
  ]
}

const ENDS = {
  steps: 'all steps',
  no_better: 'no longer falls',
  not_finite: 'not finite',
  interrupted: 'interrupted',
}

/** The error on tokens that were learned on, or the cross entropy of their rows, at the last look. */
function lastOf({curve}: CompletedTune['result']): number {
  return curve.findLast(({learned_error}) => learned_error !== null)?.learned_error ?? Number.NaN
}

function percentOf(error: number): string {
  return Number.isFinite(error) ? significant(100 * error) : MISSING
}

/** Errors of the heads of a layer, means over draws. */
function headTable(layer: number | undefined, rows: readonly CompletedTune[]): Block[] {
  const {heads} = rows[0]!.result
  const errors = rows.flatMap(({result}) => result.errors)
  const present = VARIANTS.filter(variant => errors.some(one => one.variant === variant))
  return [
    heading(3, layer === undefined ? 'Heads, %' : `Heads of layer ${layer}, %`),
    table<number>(
      [
        {title: 'head', cell: String},
        ...present.map(
          (variant): ColumnSpec<number> => ({
            title: variant.replace('_', ' '),
            cell: head =>
              percentOf(
                mean(
                  errors.flatMap(one =>
                    one.variant === variant ? (one.per_head[head] ?? NaN) : [],
                  ),
                ),
              ),
          }),
        ),
      ],
      Array.from({length: heads}, (_, head) => head),
    ),
  ]
}
