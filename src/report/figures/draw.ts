/** Figures as SVG, by Observable Plot on a document that no browser shows. */
import * as Plot from '@observablehq/plot'
import {parseHTML} from 'linkedom'
import {type Axis, type Figure, isShown, type Point, type Series, shownValues} from './figure.js'
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
    x: {...axisOptions(x, shownValues(figure, 'x'), width / (6 * fontSize)), labelAnchor: 'center'},
    y: axisOptions(y, shownValues(figure, 'y'), height / (3 * fontSize)),
    marks: [
      Plot.frame({stroke: ink, strokeOpacity: 0.25}),
      ...guides.flatMap(({label, points}) => guideMarks(label, points, fontSize)),
      ...series.flatMap((own, place) => seriesMarks(own, place, {y, colour, fontSize})),
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
function axisOptions(axis: Axis, values: readonly number[], ticks: number) {
  const common = {label: axis.label, grid: true, labelArrow: 'none', inset: 6} as const
  if (axis.scale === 'linear') return {...common, tickFormat: tickText}
  return {...common, type: 'log', ...logTicks(values, ticks), tickFormat: tickText} as const
}

function guideMarks(label: string, points: Figure['guides'][number]['points'], fontSize: number) {
  const last = points.at(-1)!
  const line = {stroke: 'currentColor', strokeOpacity: 0.55, strokeDasharray: '2 3'}
  const tip = {dy: -0.5 * fontSize, fill: 'currentColor', fillOpacity: 0.75} as const
  return [
    Plot.line(points, {...line, x: at, y: value, className: 'guide', ariaLabel: () => label}),
    Plot.text([last], {
      ...{x: at, y: value, text: () => label},
      ...{...tip, textAnchor: 'end', lineAnchor: 'bottom', className: 'guide'},
    }),
  ]
}
const at = ([x]: readonly [number, number]) => x
const value = ([, y]: readonly [number, number]) => y

interface Look {
  y: Axis
  colour: (place: number) => string
  fontSize: number
}

/** Interval, line and markers of a series. */
function seriesMarks(
  {points, label, method, projection, computed, open}: Series,
  place: number,
  look: Look,
) {
  const {y, colour, fontSize} = look
  const style = styleOf(method, projection)
  const paint = colour(style.colour)
  const className = `series series-${place}`
  const dashed = style.dash === undefined ? {} : {strokeDasharray: style.dash}
  const line = Plot.line(points, {
    ...{x: 'x', y: 'y', stroke: paint, strokeWidth: computed ? 1 : 1.6, ...dashed},
    ...{className, ariaLabel: () => label},
  })
  if (computed) return [line]
  const known = points.filter(({low, high}) => ends(y, low) && ends(y, high))
  const r = fontSize * MARKER
  return [
    Plot.ruleX(known, {
      ...{x: 'x', y1: 'low', y2: 'high', stroke: paint, strokeOpacity: 0.7},
      className,
    }),
    line,
    Plot.dot(points, {
      ...{x: 'x', y: 'y', symbol: style.marker, r, stroke: paint, className},
      ...{fill: open ? 'none' : paint, strokeWidth: 1.5},
      ariaLabel: (point: Point) => [label, ...point.facts].join(', '),
      title: (point: Point) => [label, ...point.facts].join('\n'),
    }),
  ]
}

function ends(axis: Axis, value: number | null | undefined): boolean {
  return typeof value === 'number' && isShown(axis, value)
}
