/** What is drawn of guides and of series. */
import * as Plot from '@observablehq/plot'
import {type Axis, type Guide, isShown, type Point, type Series} from './figure.js'
import {PALE, styleOf} from './style.js'

/** Radius of a marker, and of a ring around one, in letter sizes. */
export const MARKER = 0.26
const RING = 0.5

/** A line for comparison and its name: at its end, or of an upright one at its foot. */
export function guideMarks({label, points}: Guide, fontSize: number) {
  const [last, before] = [points.at(-1)!, points.at(-2)!]
  const line = {stroke: 'currentColor', strokeOpacity: 0.55, strokeDasharray: '2 3'}
  const tip = {dy: -0.5 * fontSize, fill: 'currentColor', fillOpacity: 0.75} as const
  const upright = last[0] === before[0]
  const marks = upright
    ? [Plot.ruleX([last], {...line, x: at, className: 'guide', ariaLabel: () => label})]
    : [Plot.line(points, {...line, x: at, y: value, className: 'guide', ariaLabel: () => label})]
  if (label === '') return marks
  const place = upright
    ? ({frameAnchor: 'bottom', textAnchor: 'start', dx: 0.4 * fontSize} as const)
    : ({y: value, textAnchor: 'end'} as const)
  return [
    ...marks,
    Plot.text([last], {
      ...{x: at, ...place, text: () => label},
      ...{...tip, lineAnchor: 'bottom', className: 'guide'},
    }),
  ]
}
const at = ([x]: readonly [number, number]) => x
const value = ([, y]: readonly [number, number]) => y

interface Look {
  x: Axis
  y: Axis
  colour: (place: number) => string
  fontSize: number
}

/** Intervals, line, markers and rings of a series. */
export function seriesMarks(own: Series, place: number, look: Look) {
  const {points, label, method, projection, computed, joined = true, crossings = []} = own
  const {x, y, colour, fontSize} = look
  const style = styleOf(method, projection)
  const paint = colour(style.colour)
  const className = `series series-${place}`
  const dashed = style.dash === undefined ? {} : {strokeDasharray: style.dash}
  const stroke = computed
    ? {strokeWidth: PALE.width, strokeOpacity: PALE.opacity}
    : {strokeWidth: 1.6, ...dashed}
  const line = Plot.line(points, {
    ...{x: 'x', y: 'y', stroke: paint, ...stroke},
    ...{className, ariaLabel: () => label},
  })
  const said = (point: Point) => [label, ...point.facts]
  const told = {
    ariaLabel: (point: Point) => said(point).join(', '),
    title: (point: Point) => said(point).join('\n'),
  }
  const bars = {stroke: paint, strokeOpacity: 0.7, className}
  const measured = computed ? [] : points
  const all = [...measured, ...crossings]
  const rings = Plot.dot(crossings, {
    ...{x: 'x', y: 'y', r: fontSize * RING, stroke: paint, strokeWidth: 1.6, className, ...told},
  })
  const wide = all.filter(({xLow, xHigh}) => ends(x, xLow) && ends(x, xHigh))
  const across = Plot.ruleY(wide, {y: 'y', x1: 'xLow', x2: 'xHigh', ...bars})
  const known = measured.filter(({low, high}) => ends(y, low) && ends(y, high))
  const r = fontSize * MARKER
  return [
    ...(known.length > 0 ? [Plot.ruleX(known, {x: 'x', y1: 'low', y2: 'high', ...bars})] : []),
    ...(wide.length > 0 ? [across] : []),
    ...(joined ? [line] : []),
    ...(computed
      ? []
      : [
          Plot.dot(points, {
            ...{x: 'x', y: 'y', symbol: style.marker, r, stroke: paint, className, ...told},
            ...{fill: own.open ? 'none' : paint, strokeWidth: 1.5},
          }),
        ]),
    ...(crossings.length > 0 ? [rings] : []),
  ]
}

function ends(axis: Axis, value: number | null | undefined): boolean {
  return typeof value === 'number' && isShown(axis, value)
}
