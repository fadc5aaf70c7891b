/** Legends of figures in files; pages have buttons. */
import * as Plot from '@observablehq/plot'
import type {Figure, Series} from './figure.js'
import {MARKER} from './marks.js'
import {PALE, styleOf} from './style.js'
import {svgDocument, svgText} from './svg-document.js'

/** How a legend is drawn. */
export interface LegendOptions {
  width: number
  fontSize: number
  colour: (place: number) => string
}

/** Width of a letter, and of what stands before a label, in letter sizes. */
const [LETTER, SAMPLE] = [0.52, 3.2]
/** From line to line, in letter sizes. */
const LINE = 1.5

interface Entry {
  series: Series
  column: number
  row: number
}

/**
 * Draws the samples and labels of all series, in as many columns as there is room for; nothing for tiles, which have numbers.
 *
 * @returns an `<svg>` element, and its height
 */
export function drawLegend(
  {series, shade}: Figure,
  {width, fontSize, colour}: LegendOptions,
): {svg: string; height: number} {
  if (shade) return {svg: '', height: 0}
  const longest = Math.max(...series.map(({label}) => label.length))
  const wanted = (longest * LETTER + SAMPLE + 1) * fontSize
  const columns = Math.max(1, Math.min(series.length, Math.floor(width / wanted)))
  const rows = Math.ceil(series.length / columns)
  const entries = series.map((own, place) => ({
    series: own,
    column: Math.floor(place / rows),
    row: place % rows,
  }))
  const height = rows * LINE * fontSize
  const plot = Plot.plot({
    document: svgDocument(),
    ...{width, height, margin: 0, axis: null},
    style: {fontSize: `${fontSize}px`, background: 'none'},
    x: {domain: [0, width], range: [0, width]},
    y: {domain: [0, height], range: [0, height]},
    marks: entries.flatMap(entry => entryMarks(entry, {column: width / columns, fontSize, colour})),
  })
  return {svg: svgText(plot), height}
}

function entryMarks(
  {series: {label, method, projection, computed, open, joined = true}, column: place, row}: Entry,
  {column, fontSize, colour}: {column: number} & Pick<LegendOptions, 'fontSize' | 'colour'>,
) {
  const style = styleOf(method, projection)
  const [x, y] = [place * column, (row + 0.5) * LINE * fontSize]
  const stroke = colour(style.colour)
  const dash = style.dash === undefined ? {} : {strokeDasharray: style.dash}
  const width = computed
    ? {strokeWidth: PALE.width, strokeOpacity: PALE.opacity}
    : {strokeWidth: 1.6, ...dash}
  const line = [
    [x + 0.3 * fontSize, y],
    [x + (SAMPLE - 0.5) * fontSize, y],
  ] as [number, number][]
  const dot = {symbol: style.marker, r: fontSize * MARKER, strokeWidth: 1.5}
  const middle = [x + (SAMPLE / 2) * fontSize, y] as [number, number]
  return [
    ...(joined ? [Plot.line(line, {stroke, ...width})] : []),
    ...(computed ? [] : [Plot.dot([middle], {...dot, fill: open ? 'none' : stroke, stroke})]),
    Plot.text([[x + SAMPLE * fontSize, y]], {text: () => label, textAnchor: 'start'}),
  ]
}
