/** Figures in a terminal: lines of dots, a letter for each series at its points, and the legend below. */
import {
  drawable,
  type Figure,
  isBeyond,
  joinedValues,
  type Series,
  shownValues,
} from '../figures/figure.js'
import {COLOURS, lookOf} from '../figures/style.js'
import {valueOn} from '../figures/ticks.js'
import {bold} from '../layout.js'
import {wrap} from '../wrap.js'
import {ASCII, BRAILLE, Canvas, type Ink} from './canvas.js'
import {drawSeries, type Lettered} from './draw.js'
import {AXIS_COLUMNS, axisName, FRAMES, framed} from './frame.js'
import {legendLines} from './legend.js'
import {scaleOf} from './scale.js'

/** How a figure is shown in a terminal. */
export interface PlotOptions {
  /** Columns that its lines may take. */
  width: number
  /** Whether escape sequences for colours are welcome. */
  colour: boolean
  /** Whether there are characters of Braille and frames; else it is made of ASCII. */
  unicode: boolean
}

/** Lines of its area. */
const ROWS = 15
/** Nothing is seen in less: where there is less, lines break. */
const LEAST_COLUMNS = 20
/** Lines and columns from tick to tick, at least. */
const TICKS_APART = {x: 8, y: 3}
/** With more series than that, computed ones are left out: they lie upon measured ones. */
const MOST_WITH_COMPUTED = 8
const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'

/**
 * Draws a figure with an area of fifteen lines: its title, what its axes are, and what its letters mean. Colours
 * and dashes are the same as in files.
 *
 * @param asked - its texts are printable
 * @returns lines without one end; `undefined` where there is nothing to draw
 */
export function plotFigure(asked: Figure, options: PlotOptions): string | undefined {
  const shown = drawable(withoutCrowd(asked))
  const figure = shown && withinAxis(shown)
  if (!figure || figure.shade || figure.x.names || figure.y.names) return undefined // tables say it
  const {width, unicode, colour} = options
  const y = scaleOf(figure.y, shownValues(figure, 'y'), ROWS / TICKS_APART.y)
  const gutter = Math.max(...y.ticks.map(({text}) => text.length))
  const columns = Math.max(LEAST_COLUMNS, width - gutter - AXIS_COLUMNS)
  const x = scaleOf(
    figure.x,
    shownValues(figure, 'x'),
    columns / TICKS_APART.x,
    joinedValues(figure, 'x'),
  )
  const axes = {x, y, gutter, columns, frame: FRAMES[unicode ? 'unicode' : 'ascii']}
  const canvas = new Canvas(columns, ROWS, unicode ? BRAILLE : ASCII)
  const series = lettered(figure.series)
  const drawn = drawSeries(canvas, figure, {series, x, y})
  const paint = colour ? painted : (text: string) => text
  const lines = [
    ...wrap(figure.title, width).map(line => (colour ? bold(line) : line)),
    figure.y.label,
    ...framed(canvas.lines(paint), axes),
    axisName(figure.x.label, axes),
    ...legendLines(figure, series, {drawn, width, paint}),
  ]
  return lines.map(line => line.trimEnd()).join('\n')
}

function withoutCrowd(figure: Figure): Figure {
  if (figure.series.length <= MOST_WITH_COMPUTED) return figure
  const measured = figure.series.filter(({computed}) => !computed)
  return measured.length > 0 ? {...figure, series: measured} : figure
}

/** The same with values beyond the axis at its end, and printed with the labels. */
function withinAxis(figure: Figure): Figure {
  const {limit} = figure.y
  if (limit === undefined) return figure
  const series = figure.series.map(own => {
    const beyond = own.points.filter(({y}) => isBeyond(figure.y, y))
    if (beyond.length === 0) return own
    const values = beyond.map(({y}) => valueOn(figure.y, y)).join(', ')
    const points = own.points.map(point => ({...point, y: Math.min(point.y, limit)}))
    return {...own, points, label: `${own.label} (beyond the axis: ${values})`}
  })
  return {...figure, series}
}

function lettered(all: readonly Series[]): Lettered[] {
  let count = 0
  return all.map(series => ({
    series,
    letter: series.computed ? null : LETTERS[count++ % LETTERS.length]!,
    ink: lookOf(series).colour,
  }))
}

/** What each channel of the 6 x 6 x 6 cube of xterm can be. */
const LEVELS = [0, 95, 135, 175, 215, 255]

/** Place of the nearest colour of that cube. @param hex - as in `#0072b2` */
export function terminalColour(hex: string): number {
  const channels = [1, 3, 5].map(at => Number.parseInt(hex.slice(at, at + 2), 16))
  return channels.reduce((sum, channel) => 6 * sum + nearestLevel(channel), 0) + 16
}

function nearestLevel(channel: number): number {
  const distances = LEVELS.map(level => Math.abs(level - channel))
  return distances.indexOf(Math.min(...distances))
}

function painted(text: string, ink: Ink): string {
  if (ink === null) return text
  return `\u001b[38;5;${terminalColour(COLOURS[ink]!)}m${text}\u001b[39m`
}
