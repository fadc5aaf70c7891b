/** Figures of learning: held-out errors over steps. */
import {table} from '../../../report/document.js'
import type {Figure, Series} from '../../../report/figures/figure.js'
import {significant} from '../../../report/numbers.js'
import {mean} from '../../../stats/index.js'
import type {CompletedTune, TuneRecord} from '../schema.js'
import {layersOf} from './rows.js'
import {titleOf} from './screen.js'

function lossText(value: number, {loss}: CompletedTune['cell']): string {
  return loss === 'rows' ? `${significant(value)} nats` : `${significant(100 * value)} %`
}

/** Held-out errors of each layer over the steps that were taken. */
export function tuneFigures(records: readonly TuneRecord[]): Figure[] {
  const rows = records.filter(record => record.status === 'completed')
  if (rows.length === 0) return []
  const isRows = rows[0]!.cell.loss === 'rows'
  const what = isRows
    ? 'Cross entropy of the rows of exact attention with those of the method on held-out tokens, after each step: mean over queries and heads'
    : 'Error of each head on held-out tokens, relative to its exact outputs, after each step: root mean square over heads'
  const label = isRows ? 'held-out cross entropy, nats' : 'held-out error'
  const series = layersOf(rows).map(([layer, own], at) => seriesOf(layer, own, at))
  const points = series.flatMap(({label, points: own}) =>
    own.map(({x, y}) => ({label, step: x, error: y})),
  )
  return [
    {
      name: 'held-out-error-over-steps',
      title: `Held-out error while learning: ${titleOf(rows)}`,
      caption: `${what}, which is what Adam lowers; mean over draws.`,
      x: {label: 'steps', scale: 'linear'},
      y: {label, scale: 'linear', ...(!isRows && {percent: true})},
      series,
      guides: [],
      table: table(
        [
          {title: 'layer', align: 'left', cell: ({label}) => label},
          {title: 'steps', cell: ({step}) => String(step)},
          {title: label, cell: ({error}) => significant(error)},
        ],
        points,
      ),
    },
  ]
}

function seriesOf(
  layer: number | undefined,
  rows: readonly CompletedTune[],
  colour: number,
): Series {
  const {cell} = rows[0]!
  const steps = [...new Set(rows.flatMap(({result}) => result.curve.map(({step}) => step)))]
  return {
    label: layer === undefined ? 'held-out error' : `layer ${layer}`,
    method: cell.method,
    projection: cell.projection,
    colour,
    points: steps
      .sort((a, b) => a - b)
      .flatMap(step => {
        const errors = rows.flatMap(
          ({result}) => result.curve.find(point => point.step === step)?.held_out_error ?? [],
        )
        if (errors.length < rows.length) return []
        const y = mean(errors)
        return [{x: step, y, facts: [`after ${step} steps`, lossText(y, cell)]}]
      }),
  }
}
