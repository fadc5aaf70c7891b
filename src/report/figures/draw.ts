/** Figures as SVG, by Observable Plot on a document that no browser shows. */
import * as Plot from '@observablehq/plot'
import {parseHTML} from 'linkedom'
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
import {COLOURS, styleOf} from './style.js'
import {logTicks, tickText} from './ticks.js'

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
/** Radius of a marker, in letter sizes. */
export const MARKER = 0.26
/** Times as large where no line joins them. */
export const ALONE = 1.4
/** Lines of what is predicted. */
export const PALE = {strokeWidth: 0.8, strokeOpacity: 0.75} as const

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
  const {x, y, series, guides} = figure
  const ink = 'currentColor'
  const plot = Plot.plot({
    document: document as never, // of linkedom's own type
    width,
    height,
    ...margins(fontSize),
    style: {fontSize: `${fontSize}px`, background: 'none', overflow: 'visible'},
    ariaLabel: figure.title,
    ariaDescription: figure.caption,
    x: {...axisOptions(figure, 'x', width / (6 * fontSize)), labelAnchor: 'center'},
    y: axisOptions(figure, 'y', height / (3 * fontSize)),
    marks: [
      Plot.frame({stroke: ink, strokeOpacity: 0.25}),
      ...guides.flatMap(guide => guideMarks(guide, fontSize)),
      ...series.flatMap((own, place) => seriesMarks(own, place, {x, y, colour, fontSize})),
    ],
  })
  return plot.outerHTML
}

function margins(fontSize: number) {
  const {left, right, top, bottom} = MARGINS
  return {
    marginLeft: left * fontSize,
    marginRight: right * fontSize,
    marginTop: top * fontSize,
    marginBottom: bottom * fontSize,
  }
}

/** Powers of two where lengths and numbers of features are, of ten elsewhere; numbers as in tables. */
function axisOptions(figure: Figure, of: 'x' | 'y', ticks: number) {
  const axis = figure[of]
  const common = {label: axis.label, grid: true, labelArrow: 'none', inset: 6} as const
  if (axis.scale === 'linear') return {...common, tickFormat: tickText}
  const wanted = logTicks(shownValues(figure, of), ticks, joinedValues(figure, of))
  return {...common, type: 'log', ...wanted, tickFormat: tickText} as const
}

/** A line and its label: above where it ends, or below where it begins, so that a rising line leaves both alone. */
function guideMarks({label, side = 'above', points}: Guide, fontSize: number) {
  const line = {stroke: 'currentColor', strokeOpacity: 0.55, strokeDasharray: '2 3'}
  const ink = {fill: 'currentColor', fillOpacity: 0.75, className: 'guide'}
  const place =
    side === 'above'
      ? ({dy: -0.5 * fontSize, lineAnchor: 'bottom', textAnchor: 'end'} as const)
      : ({dy: 0.5 * fontSize, lineAnchor: 'top', textAnchor: 'start'} as const)
  const labelled = side === 'above' ? points.at(-1)! : points[0]!
  return [
    Plot.line(points, {...line, x: at, y: value, className: 'guide', ariaLabel: () => label}),
    Plot.text([labelled], {x: at, y: value, text: () => label, ...ink, ...place}),
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

/** Intervals, line and markers of a series. */
function seriesMarks(own: Series, place: number, {x, y, colour, fontSize}: Look) {
  const {points, label, computed = false, joined = true, open = false} = own
  const {colour: shade, dash, marker} = styleOf(own.method, own.projection)
  const stroke = colour(shade)
  const className = `series series-${place}`
  const rule = {stroke, strokeOpacity: 0.7, className}
  const dashed = dash === undefined ? {} : {strokeDasharray: dash}
  const line = {
    ...{x: 'x', y: 'y', stroke, strokeWidth: 1.6, ...(computed && PALE), ...dashed, className},
    ariaLabel: () => label,
  }
  const dots = {
    ...{x: 'x', y: 'y', symbol: marker, stroke, className},
    ...{
      r: fontSize * MARKER * (joined ? 1 : ALONE),
      fill: computed || open || !joined ? 'none' : stroke,
    },
    ...(!computed && {strokeWidth: 1.5}),
  }
  const known = points.filter(({low, high}) => ends(y, low) && ends(y, high))
  const across = points.filter(({xLow, xHigh}) => ends(x, xLow) && ends(x, xHigh))
  return [
    ...(known.length > 0 && !computed
      ? [Plot.ruleX(known, {x: 'x', y1: 'low', y2: 'high', ...rule})]
      : []),
    ...(across.length > 0 && !computed
      ? [Plot.ruleY(across, {y: 'y', x1: 'xLow', x2: 'xHigh', ...rule})]
      : []),
    ...(joined ? [Plot.line(points, line)] : []),
    // a line that is predicted has its facts at the measured points
    Plot.dot(points, {
      ...dots,
      ...(computed && joined ? {strokeOpacity: PALE.strokeOpacity} : told(label)),
    }),
  ]
}

/** What a point says to pointers and to screen readers. */
function told(label: string) {
  return {
    ariaLabel: (point: Point) => [label, ...point.facts].join(', '),
    title: (point: Point) => [label, ...point.facts].join('\n'),
  }
}

function ends(axis: Axis, value: number | null | undefined): boolean {
  return typeof value === 'number' && isShown(axis, value)
}
