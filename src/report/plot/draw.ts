/** The lines, intervals and letters of a figure on a canvas. */
import {type Figure, isShown, type Point, type Series} from '../figures/figure.js'
import {lookOf} from '../figures/style.js'
import type {Canvas, Ink} from './canvas.js'
import type {Scale} from './scale.js'

/** A series with what stands at its points; `null`: nothing. */
export interface Lettered {
  series: Series
  letter: string | null
  ink: Ink
}

/** What is on a canvas in addition to lines, for the legend. */
export interface Drawn {
  /** Whether letters stand next to their points, as others are there. */
  aside: boolean
  /** Whether intervals reach beyond the letters of their points. */
  intervals: boolean
}

/** Column and row, in dots. */
type Place = readonly [x: number, y: number]

/** Dots and gaps of what is there for comparison, and of what is computed. */
const GUIDE = [1, 3]
const COMPUTED = [1, 1]

/** Draws intervals, lines over them, guides where there is room, and letters over all. */
export function drawSeries(
  canvas: Canvas,
  figure: Figure,
  {series, x, y}: {series: readonly Lettered[]; x: Scale; y: Scale},
): Drawn {
  const placeOf = (atX: number, atY: number): Place => [
    Math.round(x.share(atX) * (canvas.width - 1)),
    Math.round((1 - y.share(atY)) * (canvas.height - 1)),
  ]
  const measured = series.filter(({letter}) => letter !== null)
  const intervals = eachPoint(measured, ({low, high, ...point}, {ink}) => {
    if (![low, high].every(end => typeof end === 'number' && isShown(figure.y, end))) return false
    const ends = [placeOf(point.x, high!), placeOf(point.x, low!)] as const
    return drawInterval(canvas, ends, placeOf(point.x, point.y), ink)
  })
  for (const {series: own, ink, letter} of series) {
    const pattern = letter === null ? COMPUTED : lookOf(own).dash?.split(' ').map(Number)
    const places = own.points.map(point => placeOf(point.x, point.y))
    drawPath(canvas, places, {ink, pattern})
  }
  for (const {points} of figure.guides) {
    const places = points.map(([atX, atY]) => placeOf(atX, atY))
    drawPath(canvas, places, {ink: null, pattern: GUIDE, free: true})
  }
  const aside = eachPoint(measured, (point, {letter, ink}) =>
    drawLetter(canvas, placeOf(point.x, point.y), letter!, ink),
  )
  return {aside, intervals}
}

/** Calls a function for all points. @returns whether any call gave true */
function eachPoint(
  series: readonly Lettered[],
  call: (point: Point, own: Lettered) => boolean,
): boolean {
  const answers = series.flatMap(own => own.series.points.map(point => call(point, own)))
  return answers.includes(true)
}

function drawPath(
  canvas: Canvas,
  places: readonly Place[],
  style: {ink: Ink; pattern?: readonly number[] | undefined; free?: boolean},
): void {
  for (const [before, place] of places.slice(1).entries()) {
    canvas.line(places[before]!, place, style)
  }
}

/** An interval, unless anything is in its way. @returns whether it reaches beyond the cell of its point */
function drawInterval(
  canvas: Canvas,
  [high, low]: readonly [Place, Place],
  [x, middle]: Place,
  ink: Ink,
): boolean {
  const cellOf = (y: number) => Math.floor(y / canvas.pen.rows)
  if (cellOf(high[1]) === cellOf(middle) && cellOf(low[1]) === cellOf(middle)) return false
  for (let y = high[1]; y <= low[1]; y++) if (!canvas.isFree(x, y)) return false
  canvas.line(high, low, {ink})
  return true
}

/** A letter at its place, or at the nearest free one next to it. @returns whether it stands next to it */
function drawLetter(canvas: Canvas, [x, y]: Place, letter: string, ink: Ink): boolean {
  const towardsMiddle = (x < canvas.width / 2 ? 1 : -1) * canvas.pen.columns
  let at = x
  while (canvas.characterAt(at, y) !== undefined) at += towardsMiddle
  canvas.mark(at, y, letter, ink)
  return at !== x
}
