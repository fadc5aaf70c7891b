/** Where arrow keys lead from a point of a figure. */

/** A point of a drawing. */
export interface Place {
  /** Which series it is of. */
  series: number
  x: number
  y: number
}

/**
 * Left and right lead along a series, up and down to the nearest x of the series before and behind it, Home and End to its
 * ends.
 *
 * @param points - those that are shown, series by series
 * @returns `undefined` where a key leads nowhere
 */
export function neighbour<P extends Place>(
  key: string,
  from: P,
  points: readonly P[],
): P | undefined {
  const own = points.filter(({series}) => series === from.series)
  const place = own.indexOf(from)
  switch (key) {
    case 'ArrowRight':
      return own[place + 1]
    case 'ArrowLeft':
      return own[place - 1]
    case 'Home':
      return own[0]
    case 'End':
      return own.at(-1)
    case 'ArrowDown':
      return nearestX(from, beside(from, points, 1))
    case 'ArrowUp':
      return nearestX(from, beside(from, points, -1))
    default:
      return undefined
  }
}

/** The points of the next series that is shown. */
function beside<P extends Place>({series: own}: P, points: readonly P[], step: 1 | -1): P[] {
  const others = points.filter(({series}) => (series - own) * step > 0)
  const next = Math.min(...others.map(({series}) => (series - own) * step))
  return others.filter(({series}) => (series - own) * step === next)
}

function nearestX<P extends Place>({x}: P, points: readonly P[]): P | undefined {
  return points.reduce<P | undefined>(
    (best, point) => (best && Math.abs(best.x - x) <= Math.abs(point.x - x) ? best : point),
    undefined,
  )
}
