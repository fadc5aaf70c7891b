/** Which of too many points along an axis are kept, and figures of those alone. */

import {spanOf} from '../groups.js'
import type {Axis, Figure} from './figure.js'

/**
 * Of each of equal stretches of an axis the first item, and the last one of all. Which stay depends on where they stand on the
 * axis alone.
 *
 * @param items - in the order of the axis
 * @param axis - `at`: where an item stands, `span`: from where to where there are stretches, and how many of them
 */
export function alongAxis<T>(
  items: readonly T[],
  {scale, span, stretches, at}: AxisStretches & {at(item: T): number},
): T[] {
  const [low, high] = span.map(end => placeOn(scale, end)) as [number, number]
  const stretchOf = (item: T) =>
    Math.floor(((placeOn(scale, at(item)) - low) / (high - low || 1)) * (stretches - 1e-9))
  let before = Number.NaN
  return items.filter((item, place) => {
    const own = stretchOf(item)
    const isNew = own !== before
    before = own
    return place === 0 || place === items.length - 1 || isNew
  })
}

export interface AxisStretches {
  scale: Axis['scale']
  span: readonly [low: number, high: number]
  stretches: number
}

/** Stretches of an axis for lines that together may have a number of points; two of each always stay. */
export function stretchesFor(
  scale: Axis['scale'],
  places: Iterable<number>,
  {lines, most}: {lines: number; most: number},
): AxisStretches {
  return {scale, span: spanOf(places), stretches: Math.max(1, Math.floor(most / lines) - 1)}
}

/** Where on its axis a number stands, up to a linear map. */
function placeOn(scale: Axis['scale'], value: number): number {
  return scale === 'log' ? Math.log(value) : value
}

/**
 * The same figure with a limited number of points: in each of equal stretches of the x axis the first and the last
 * point of a series. Which points stay does not depend on y.
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

export function pointsIn({series}: Figure): number {
  return series.reduce((sum, {points}) => sum + points.length, 0)
}
