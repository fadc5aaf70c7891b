/** Scales of figures, and the room around a drawing for ticks, names and labels. */
import * as Plot from '@observablehq/plot'
import {spanOf} from '../groups.js'
import {type Axis, type Figure, joinedValues, shownValues} from './figure.js'
import {logTicks, tickOn} from './ticks.js'

/** Between the frame and what it shows, in CSS pixels. */
const INSET = 6

/** Powers of two where lengths and numbers of features are, of ten elsewhere; numbers as in tables. */
export function axisOptions(
  axis: Axis,
  values: readonly number[],
  {ticks, letters, chosen}: {ticks: number; letters: number; chosen: readonly number[]},
) {
  const common = {label: axis.label, grid: true, labelArrow: 'none', inset: INSET} as const
  if (axis.names) return namesOptions(axis.names, letters)
  const shown = {...common, domain: spanOf(values), tickFormat: tickOn(axis)}
  if (axis.scale === 'linear') return {...shown, ticks: Math.round(ticks)}
  return {...shown, type: 'log', ...logTicks(values, ticks, chosen)} as const
}

/**
 * The axes of logarithmic scales with all of their numbers: a format as an option of the scale is asked for some of them alone.
 *
 * @param scales - options of both
 */
export function logAxes(
  {x, y}: Pick<Figure, 'x' | 'y'>,
  scales: Record<'x' | 'y', {ticks?: unknown}>,
) {
  const textOf = (axis: Axis) =>
    ({text: tickOn(axis), label: axis.label, labelArrow: 'none'}) as const
  const ticksOf = ({ticks}: {ticks?: unknown}) => ticks as number[]
  return [
    ...(x.scale === 'log'
      ? [Plot.axisX(ticksOf(scales.x), {...textOf(x), labelAnchor: 'center'})]
      : []),
    ...(y.scale === 'log' ? [Plot.axisY(ticksOf(scales.y), textOf(y))] : []),
  ]
}

/** Names at whole numbers. Options of y: the first of them stands at the top. */
function namesOptions(names: readonly string[], letters: number) {
  return {
    ...{type: 'linear' as const, label: null, grid: false},
    domain: [names.length - 0.5, -0.5],
    ticks: [...names.keys()],
    tickFormat: (at: number) => shortName(names[at]!, letters),
    tickSize: 0,
  } as const
}

/** The start and the end of a long name: names of one axis often differ in either. */
function shortName(name: string, most: number): string {
  if (name.length <= most) return name
  const end = Math.floor((most - 1) / 3)
  return `${name.slice(0, most - 1 - end)}…${name.slice(name.length - end)}`
}

/** Space around, for ticks and labels, in letters. */
const MARGINS = {left: 4.8, right: 1.5, top: 2, bottom: 3.6}
/** Width of a letter, and height of a line of names, in letter sizes. */
const [LETTER, NAME_LINE] = [0.55, 1.9]
/** Share of the width that names may take. */
const NAMES_SHARE = 0.45

/** Letters of a name below a figure, and its angle in degrees. */
const [SHORT, SLANT] = [22, -35]

/** Letters that a name next to a figure may have. */
export function lettersOf(width: number, fontSize: number): number {
  return Math.floor((width * NAMES_SHARE) / (LETTER * fontSize))
}

/** Names of an axis want a line each, whatever height was asked for. */
export function heightOf(
  {x, y}: Figure,
  {height = 0, fontSize}: {height?: number; fontSize: number},
) {
  if (!y.names) return height
  const {top, bottom} = marginsOf(x)
  return (y.names.length * NAME_LINE + top + bottom) * fontSize
}

/** In letters; names aslant want more. */
function marginsOf({names = []}: Axis) {
  const longest = Math.max(0, ...names.map(name => shortName(name, SHORT).length))
  const slanted = Math.sin((-SLANT * Math.PI) / 180) * longest * LETTER
  return {...MARGINS, bottom: Math.max(MARGINS.bottom, 1.5 + slanted)}
}

/** Space around a frame in CSS pixels, as Plot takes it. */
export interface Margins {
  marginLeft: number
  marginRight: number
  marginTop: number
  marginBottom: number
}

/**
 * Space around a frame.
 *
 * @param letters - as {@link lettersOf} says
 * @param more - what labels right of the frame and rows above it take, in CSS pixels
 */
export function margins(
  {x, y}: Figure,
  {fontSize, letters}: {fontSize: number; letters: number},
  more: {right: number; above: number},
): Margins {
  const {left, right, top, bottom} = marginsOf(x)
  const longest = Math.max(0, ...(y.names ?? []).map(name => shortName(name, letters).length))
  return {
    marginLeft: (y.names ? 1 + longest * LETTER : left) * fontSize,
    marginRight: Math.max(right * fontSize, more.right),
    marginTop: top * fontSize + more.above,
    marginBottom: bottom * fontSize,
  }
}

/** Where a value of y stands in a drawing, in CSS pixels from its top. */
export function heightScale(
  figure: Figure,
  {height, marginTop, marginBottom}: Margins & {height: number},
): (value: number) => number {
  const place = figure.y.scale === 'log' ? Math.log : (value: number) => value
  const [low, high] = spanOf(shownValues(figure, 'y')).map(place) as [number, number]
  const [top, bottom] = [marginTop + INSET, height - marginBottom - INSET]
  if (!(low < high)) return () => (top + bottom) / 2
  return value => bottom - ((place(value) - low) / (high - low)) * (bottom - top)
}

/** Names below a figure stand from left to right, aslant. */
export function xOptions(figure: Figure, ticks: number) {
  const {x} = figure
  const labelAnchor = 'center' as const
  const options = axisOptions(x, shownValues(figure, 'x'), {
    ...{ticks, letters: SHORT},
    chosen: joinedValues(figure, 'x'),
  })
  if (!x.names) return {...options, labelAnchor}
  const domain = [-0.5, x.names.length - 0.5]
  return {...options, label: null, labelAnchor, domain, tickRotate: SLANT}
}
