/** What errors are compared with in figures: a law, and the error of averaging V. */
import type {Guide, Series} from '../../../report/figures/figure.js'
import {spanOf} from '../../../report/groups.js'
import type {CompletedSweep} from '../schema.js'
import type {Span, Variable} from './figure-variables.js'

/** What averaging V gets wrong at a place. */
export type Level = readonly [x: number, error: number]
const errorOf = ([, error]: Level) => error

/** The law through the middle of where the lines begin. */
export function slopeGuide({slope}: Variable, lines: readonly Series[], [from, to]: Span): Guide[] {
  if (!slope) return []
  const first = lines.flatMap(({points}) => (points[0]!.x === from ? [Math.log(points[0]!.y)] : []))
  if (first.length === 0) return []
  const start = Math.exp(first.reduce((sum, log) => sum + log, 0) / first.length)
  const end = start * (to / from) ** slope.exponent
  return [
    {
      label: slope.label,
      points: [
        [from, start],
        [to, end],
      ],
    },
  ]
}

/** The error of averaging V: a level, or a line over lengths and norms. */
export function averageGuide(levels: readonly Level[], [from, to]: Span): Guide[] {
  const [first] = levels
  if (first === undefined) return []
  const label = 'averaging V'
  const [low, high] = spanOf(levels.map(errorOf))
  if (high > 1.01 * low) return [{label, points: levels}]
  return [
    {
      label,
      points: [
        [from, low],
        [to, low],
      ],
    },
  ]
}

/** What averaging V gets wrong, by the variable; of one that it does not depend on all over its span. */
export function averages(
  variable: Variable,
  records: readonly CompletedSweep[],
  span: Span,
): Level[] {
  // rel L2 and MSE differ by a factor that all methods of an input share
  const places = records.flatMap(record => {
    const {rel_l2, mse, mean_value_mse} = record.result
    if (!rel_l2.median || !mse.median) return []
    const error = rel_l2.median * Math.sqrt(mean_value_mse / mse.median)
    const x = variable.read(record)
    return (x === null ? span : [x]).map(place => [place, error] as const)
  })
  const byPlace = new Map(places.toReversed())
  return [...byPlace].toSorted(([a], [b]) => a - b)
}
