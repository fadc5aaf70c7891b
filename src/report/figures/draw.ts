/** Figures as SVG, by Observable Plot on a document that no browser shows. */
import * as Plot from '@observablehq/plot'
import {parseHTML} from 'linkedom'
import {axisOptions, shortName} from './axes.js'
import {
  type Axis,
  type Figure,
  type Guide,
  isShown,
  joinedValues,
  type Point,
  type Series,
  shownValues,
} from './figure.js'
import {COLOURS, PALE, styleOf} from './style.js'
import {tileMarks} from './tiles.js'

/** Size and colours of a drawing. */
export interface DrawOptions {
  /** In CSS pixels. Default: 640. */
  width?: number
  /** Default: 5/8 of the width. */
  height?: number
  /** Of letters, in CSS pixels. Default: 12. */
  fontSize?: number
  /** Colour of a place in the palette. Default: a custom property `--series-N` of the page, with the palette's as fallback. */
  colour?: (place: number) => string
}

/** One that a page may change, for dark screens. */
const customColour = (place: number) => `var(--series-${place}, ${COLOURS[place]})`

/** Space around, for ticks and labels, in letters. */
const MARGINS = {left: 4.8, right: 1.5, top: 2, bottom: 3.6}
/** Radius of a marker, and of a ring around one, in letter sizes. */
export const MARKER = 0.26
const RING = 0.5
/** Width of a letter, and height of a line of names, in letter sizes. */
const [LETTER, NAME_LINE] = [0.55, 1.9]
/** Share of the width that names may take. */
const NAMES_SHARE = 0.45

/**
 * Draws a figure, its legend left out. Each series is in groups of class `series-N`, N its place in the figure; its points
 * have their facts as titles.
 *
 * @param figure - as {@link drawable} leaves it
 * @returns an `<svg>` element
 */
export function drawFigure(
  figure: Figure,
  {width = 640, height = (width * 5) / 8, fontSize = 12, colour = customColour}: DrawOptions = {},
): string {
  const {document} = parseHTML('<!doctype html><html><body></body></html>')
  const {x, y, series, guides, shade} = figure
  const ink = 'currentColor'
  const letters = Math.floor((width * NAMES_SHARE) / (LETTER * fontSize))
  const plot = Plot.plot({
    document: document as never, // of linkedom's own type
    width,
    height: heightOf(figure, {height, fontSize}),
    ...margins(figure, fontSize, letters),
    style: {fontSize: `${fontSize}px`, background: 'none', overflow: 'visible'},
    ariaLabel: figure.title,
    ariaDescription: figure.caption,
    x: xOptions(figure, width / (6 * fontSize)),
    y: axisOptions(y, shownValues(figure, 'y'), {
      ...{ticks: height / (3 * fontSize), letters},
      chosen: joinedValues(figure, 'y'),
    }),
    ...(shade && {color: {type: shade.scale, scheme: 'viridis', reverse: true}}),
    marks: [
      Plot.frame({stroke: ink, strokeOpacity: 0.25}),
      ...guides.flatMap(guide => guideMarks(guide, fontSize)),
      ...series.flatMap((own, place) =>
        shade
          ? tileMarks(own, place, {figure, fontSize})
          : seriesMarks(own, place, {x, y, colour, fontSize}),
      ),
    ],
  })
  return plot.outerHTML
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

function margins({x, y}: Figure, fontSize: number, letters: number) {
  const {left, right, top, bottom} = marginsOf(x)
  const longest = Math.max(0, ...(y.names ?? []).map(name => shortName(name, letters).length))
  return {
    marginLeft: (y.names ? 1 + longest * LETTER : left) * fontSize,
    marginRight: right * fontSize,
    marginTop: top * fontSize,
    marginBottom: bottom * fontSize,
  }
}

/** Names below a figure stand from left to right, aslant. */
function xOptions(figure: Figure, ticks: number) {
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
/** Letters of a name below a figure, and its angle in degrees. */
const [SHORT, SLANT] = [22, -35]

/** A line for comparison and its name: at its end, or of an upright one at its foot. */
function guideMarks({label, points}: Guide, fontSize: number) {
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
function seriesMarks(own: Series, place: number, look: Look) {
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
