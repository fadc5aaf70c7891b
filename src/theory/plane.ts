/**
 * Expectations over w ~ N(0, I) of functions of w.x and w.y alone, by quadrature in the plane of x and y:
 * w = r (cos a, sin a) there, with density `r exp(-r^2/2) / (2 pi)`.
 */

import {dot} from './kernels.js'
import type {Moments} from './moments.js'
import {panels} from './quadrature.js'

/** A function of u = w.x and v = w.y. */
export type PlaneFunction = (u: number, v: number) => number

/** Radial panels; `exp(40 r)` over one has an error of 1e-13. */
const PANEL = 0.5
/** `exp(-r^2/2)` beyond it is 3e-18; fourth powers of exponentials of w.x and w.y peak at 4 (|x| + |y|). */
const REACH = 9

/**
 * Mean, variance and kurtosis of g(w.x, w.y), smooth but for kinks where w.x or w.y is 0.
 *
 * @param mean - where it is known; else it is integrated too
 */
export function planeMoments(
  g: PlaneFunction,
  x: Float64Array,
  y: Float64Array,
  mean = planeMean(g, x, y),
): Moments {
  const [second, fourth] = planeMeans(
    (u, v) => {
      const square = (g(u, v) - mean) ** 2
      return [square, square ** 2]
    },
    2,
    x,
    y,
  )
  return {mean, variance: second!, kurtosis: second! > 0 ? fourth! / second! ** 2 - 3 : 0}
}

/** E g(w.x, w.y). */
export function planeMean(g: PlaneFunction, x: Float64Array, y: Float64Array): number {
  return planeMeans((u, v) => [g(u, v)], 1, x, y)[0]!
}

/**
 * Expectations of several functions at once. Panels do not cross the lines w.x = 0 and w.y = 0, so kinks there
 * cost nothing.
 *
 * @param g - `count` values
 * @returns `Infinity` where one leaves the range of doubles
 */
export function planeMeans(
  g: (u: number, v: number) => ArrayLike<number>,
  count: number,
  x: Float64Array,
  y: Float64Array,
): Float64Array {
  const lengths = {x: Math.sqrt(dot(x, x)), y: Math.sqrt(dot(y, y))}
  const product = lengths.x * lengths.y
  const angle = product === 0 ? 0 : Math.acos(Math.max(-1, Math.min(1, dot(x, y) / product)))
  const size = lengths.x + lengths.y
  const sums = new Float64Array(count)
  const radial = panels(0, REACH + 4 * size, PANEL)
  for (const [from, to] of arcs(angle)) {
    for (const [a, angular] of panels(from, to, Math.PI / (2 + 2 * size))) {
      const u = lengths.x * Math.cos(a)
      const v = lengths.y * Math.cos(a - angle)
      for (const [r, weight] of radial) {
        const values = g(r * u, r * v)
        const density = (angular * weight * r * Math.exp((-r * r) / 2)) / (2 * Math.PI)
        if (density === 0) continue
        for (let i = 0; i < count; i++) sums[i]! += density * values[i]!
      }
    }
  }
  return sums.map(sum => (Number.isNaN(sum) ? Number.POSITIVE_INFINITY : sum))
}

/** A full turn, cut where w.x or w.y changes its sign. */
function arcs(angle: number): [number, number][] {
  const turn = 2 * Math.PI
  const cuts = [0.5, 1.5]
    .flatMap(part => [part * Math.PI, (part * Math.PI + angle) % turn])
    .sort((a, b) => a - b)
  return cuts.map((from, at) => [from, cuts[at + 1] ?? cuts[0]! + turn])
}
