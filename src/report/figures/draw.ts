/** Figures and their legends as SVG, by Observable Plot on a document that no browser shows. */
import * as Plot from '@observablehq/plot'
import {DOMParser} from 'linkedom'
import {axisOptions, heightOf, lettersOf, margins, xOptions} from './axes.js'
import {type Figure, joinedValues, type Series, shownValues} from './figure.js'
import {guideMarks, MARKER, seriesMarks} from './marks.js'
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
  const {x, y, series, guides, shade} = figure
  const ink = 'currentColor'
  const letters = lettersOf(width, fontSize)
  const plot = Plot.plot({
    document: svgDocument(),
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
  return svgText(plot)
}

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

/**
 * A document for Observable Plot to draw on. It is one of XML: what it writes escapes attributes as well as texts, so that
 * any name may stand in them.
 */
function svgDocument(): never {
  const document = new DOMParser().parseFromString('<svg/>', 'image/svg+xml')
  return document as never // Plot wants a document of a browser, of which it uses what linkedom has
}

/** What XML has no place for, not even escaped: control characters, halves of surrogate pairs. */
const FORBIDDEN = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu

/** A drawing as text. @param drawing - of {@link svgDocument} */
function svgText(drawing: {outerHTML: string}): string {
  return drawing.outerHTML.replaceAll(FORBIDDEN, '\ufffd')
}
