/** Straight lines in log-log axes between two measured places: powers of x. */

/** A point of such axes; both are positive. */
export interface LogPlace {
  x: number
  y: number
}

/** A line through two places of different x. */
export type LogLine = readonly [from: LogPlace, to: LogPlace]

/** Height of a line at x. */
export function heightAt([from, to]: LogLine, x: number): number {
  return from.y * (to.y / from.y) ** (Math.log(x / from.x) / Math.log(to.x / from.x))
}

/**
 * Height at x of the straight lines through several places.
 *
 * @param places - in the order of x
 * @returns `undefined` beyond them
 */
export function heightAmong(places: readonly LogPlace[], x: number): number | undefined {
  const above = places.findIndex(place => place.x >= x)
  const to = places[above]
  if (to?.x === x) return to.y
  const from = places[above - 1]
  return from && to && heightAt([from, to], x)
}

/** Where a line passes a height of 1; `NaN` for a flat one, and for heights that are not positive. */
export function passesOne([from, to]: LogLine): number {
  const [first, second] = [Math.log(from.y), Math.log(to.y)]
  if (first === second) return Number.NaN
  return from.x * (to.x / from.x) ** (first / (first - second))
}
