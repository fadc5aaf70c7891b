/** What is drawn of guides, of series and of what stands around a frame. */
import * as Plot from '@observablehq/plot'
import {BEFORE, type BeyondRow, type Surroundings} from './ends.js'
import {
  type Axis,
  type Guide,
  isBeyond,
  isShown,
  isUpright,
  type Point,
  type Series,
} from './figure.js'
import {lookOf, PALE} from './style.js'
import {valueOn} from './ticks.js'

/** Radius of a marker, and of a ring around one, in letter sizes. */
export const MARKER = 0.26
const RING = 0.5

interface Look {
  x: Axis
  y: Axis
  colour: (place: number) => string
  fontSize: number
  /** Colour around texts that lie on lines. */
  paper: string
}

/** Of what is there for comparison. */
const GUIDE = {stroke: 'currentColor', strokeOpacity: 0.55, strokeDasharray: '2 3'} as const
const GUIDE_TEXT = {fill: 'currentColor', fillOpacity: 0.75} as const

/** A line for comparison, with its name inside the frame: at its end, or of an upright one at its foot. @param place - `inside`: whether it has its name there, `step`: names of upright ones below its own */
export function guideMarks(
  {label, points}: Guide,
  {inside, step}: {inside: boolean; step: number},
  {fontSize, paper}: Look,
) {
  const last = points.at(-1)!
  const upright = isUpright({points})
  const line = {...GUIDE, x: at, className: 'guide', ariaLabel: () => label}
  const marks = upright ? [Plot.ruleX([last], line)] : [Plot.line(points, {...line, y: value})]
  if (label === '' || !inside) return marks
  const place = upright
    ? ({frameAnchor: 'bottom', lineAnchor: 'bottom', dy: -(0.5 + 1.2 * step) * fontSize} as const)
    : ({y: value, lineAnchor: 'middle'} as const)
  return [
    ...marks,
    Plot.text([last], {
      ...{x: at, ...place, text: () => label, textAnchor: 'start', dx: 0.5 * fontSize},
      ...{...GUIDE_TEXT, stroke: paper, strokeWidth: 3, className: 'guide'},
    }),
  ]
}
const at = ([x]: readonly [number, number]) => x
const value = ([, y]: readonly [number, number]) => y

/** Intervals, line, markers and rings of a series. */
export function seriesMarks(own: Series, place: number, look: Look) {
  const {points, label, computed, joined = true, crossings = []} = own
  const {x, y, colour, fontSize} = look
  const style = lookOf(own)
  const paint = colour(style.colour)
  const className = classOf(place)
  const dashed = style.dash === undefined ? {} : {strokeDasharray: style.dash}
  const stroke = computed
    ? {strokeWidth: PALE.width, strokeOpacity: PALE.opacity}
    : {strokeWidth: 1.6, ...dashed}
  const line = Plot.line(withinAxis(points, y), {
    ...{x: 'x', y: 'y', stroke: paint, ...stroke},
    ...{className, ariaLabel: () => label},
  })
  const within = points.filter(point => !isBeyond(y, point.y))
  const bars = {stroke: paint, strokeOpacity: 0.7, className}
  const measured = computed ? [] : within
  const rings = Plot.dot(crossings, {
    ...{x: 'x', y: 'y', r: fontSize * RING, stroke: paint, strokeWidth: 1.6, className},
    ...saying(label),
  })
  const wide = [...measured, ...crossings].filter(
    ({xLow, xHigh}) => ends(x, xLow) && ends(x, xHigh),
  )
  const across = Plot.ruleY(wide, {y: 'y', x1: 'xLow', x2: 'xHigh', ...bars})
  const known = measured.filter(({low, high}) => ends(y, low) && ends(y, high))
  const high = ({high: end}: Point) => Math.min(end!, y.limit ?? Number.POSITIVE_INFINITY)
  return [
    ...(known.length > 0 ? [Plot.ruleX(known, {x: 'x', y1: 'low', y2: high, ...bars})] : []),
    ...(wide.length > 0 ? [across] : []),
    ...(joined ? [line] : []),
    ...(measured.length > 0
      ? [Plot.dot(measured, {x: 'x', y: 'y', ...markerOf(own, look), className, ...saying(label)})]
      : []),
    ...(crossings.length > 0 ? [rings] : []),
  ]
}

function classOf(place: number): string {
  return `series series-${place}`
}

function markerOf(own: Series, {colour, fontSize}: Look) {
  const {colour: place, marker} = lookOf(own)
  const paint = colour(place)
  const fill = own.open ? 'none' : paint
  return {symbol: marker, r: fontSize * MARKER, stroke: paint, fill, strokeWidth: 1.5}
}

/** What a page says of points. @param label - of their series */
function saying(label: string) {
  const said = (point: Point) => [label, ...point.facts]
  return {
    ariaLabel: (point: Point) => said(point).join(', '),
    title: (point: Point) => said(point).join('\n'),
  }
}

/** Points of a line that is cut where it leaves its axis: a gap stands for what lies beyond. */
function withinAxis(points: readonly Point[], y: Axis): Pick<Point, 'x' | 'y'>[] {
  const {limit} = y
  if (limit === undefined) return [...points]
  return points.flatMap((point, place) => {
    const next = points[place + 1]
    const own = isBeyond(y, point.y) ? {x: point.x, y: Number.NaN} : point
    if (!next || isBeyond(y, point.y) === isBeyond(y, next.y)) return [own]
    const share = (Math.log(limit) - Math.log(point.y)) / (Math.log(next.y) - Math.log(point.y))
    const cut = {x: point.x * (next.x / point.x) ** share, y: limit}
    return [own, cut]
  })
}

function ends(axis: Axis, value: number | null | undefined): boolean {
  return typeof value === 'number' && isShown(axis, value) && !isBeyond(axis, value)
}

/** Values of a series beyond the axis, in its row above the frame; the last one stands left of its place, within the frame. */
export function beyondMarks({series, at: row}: BeyondRow, place: number, look: Look) {
  const {y, fontSize} = look
  const points = series.points.filter(point => isBeyond(y, point.y))
  const last = series.points.at(-1)!
  const parts = [points.filter(point => point !== last), points.filter(point => point === last)]
  const level = {x: 'x', y: {value: () => row, scale: null}, className: classOf(place)}
  return parts.flatMap((own, part) => {
    const dx = -(0.3 + 2 * part) * fontSize
    return [
      Plot.dot(own, {...level, ...markerOf(series, look), dx, ...saying(series.label)}),
      Plot.text(own, {
        ...{...level, text: (point: Point) => valueOn(y, point.y), fontSize: fontSize * 0.85},
        ...{dx: dx + 0.5 * fontSize, textAnchor: 'start', lineAnchor: 'middle'},
      }),
    ]
  })
}

/** Labels right of the frame, with markers and, where they had to move, lines to where they belong. */
export function endMarks({labels, margins}: Surroundings, width: number, look: Look) {
  const {fontSize} = look
  const right = width - margins.marginRight
  const text = right + BEFORE * fontSize
  return labels.flatMap(label => {
    const {series, from, at: middle} = label
    const marker = [[right + 1.4 * fontSize, middle]] as [number, number][]
    const lead = [
      [right - 1, from],
      [right + 0.7 * fontSize, middle],
    ] as [number, number][]
    const moved = Math.abs(middle - from) > 1
    return [
      ...(moved
        ? [
            Plot.line(lead, {
              ...INPIXELS,
              stroke: 'currentColor',
              strokeOpacity: 0.35,
              strokeWidth: 1,
            }),
          ]
        : []),
      ...(series ? [Plot.dot(marker, {...INPIXELS, ...markerOf(series, look)})] : []),
      Plot.text([[series ? text : right + fontSize, middle]] as [number, number][], {
        ...{...INPIXELS, text: () => label.lines.join('\n'), textAnchor: 'start'},
        ...{lineAnchor: 'middle', lineHeight: 1.1, ...(series ? {} : GUIDE_TEXT)},
      }),
    ]
  })
}

/** Places that are given in CSS pixels. */
const INPIXELS = {x: {value: at, scale: null}, y: {value, scale: null}}
