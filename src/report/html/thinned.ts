/** Figures with fewer points, where nobody could tell more of them apart. */
import {alongAxis, stretchesFor} from '../figures/along-axis.js'
import type {Figure} from '../figures/figure.js'

/**
 * The same figure with at most so many points: of each of equal stretches of the x axis the first point of a series, and its
 * last one. Which points stay does not depend on y.
 *
 * @param most - of all series together; two of each stay in any case
 */
export function thinned(figure: Figure, most: number): Figure {
  if (pointsIn(figure) <= most) return figure
  const places = figure.series.flatMap(({points}) => points.map(({x}) => x))
  const stretches = stretchesFor(figure.x.scale, places, {lines: figure.series.length, most})
  const series = figure.series.map(own => {
    return {...own, points: alongAxis(own.points, {...stretches, at: ({x}) => x})}
  })
  return {...figure, series}
}

/** Points of all series together. */
export function pointsIn({series}: Figure): number {
  return series.reduce((sum, {points}) => sum + points.length, 0)
}
