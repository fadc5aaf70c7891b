/** Figures with fewer points, where nobody could tell more of them apart. */
import type {Axis, Figure, Point} from '../figures/figure.js'
import {spanOf} from '../figures/span.js'

/**
 * The same figure with at most so many points: of each of equal stretches of the x axis the first point of a series, and its
 * last one. Which points stay does not depend on y.
 *
 * @param most - of all series together; two of each stay in any case
 */
export function thinned(figure: Figure, most: number): Figure {
  const count = pointsIn(figure)
  if (count <= most) return figure
  const stretches = Math.max(1, Math.floor(most / figure.series.length) - 1)
  const all = figure.series.flatMap(({points}) => points.map(({x}) => placeOn(figure.x, x)))
  const [low, high] = spanOf(all)
  const stretchOf = ({x}: Point) =>
    Math.floor(((placeOn(figure.x, x) - low) / (high - low || 1)) * (stretches - 1e-9))
  const series = figure.series.map(own => {
    const points = own.points.filter(
      (point, at, {length}) =>
        at === 0 || at === length - 1 || stretchOf(point) !== stretchOf(own.points[at - 1]!),
    )
    return {...own, points}
  })
  return {...figure, series}
}

/** Points of all series together. */
export function pointsIn({series}: Figure): number {
  return series.reduce((sum, {points}) => sum + points.length, 0)
}

/** Where on its axis a number stands, up to a linear map. */
function placeOn({scale}: Axis, value: number): number {
  return scale === 'log' ? Math.log(value) : value
}
