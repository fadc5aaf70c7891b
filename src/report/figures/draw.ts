/** Figures as SVG, by Observable Plot on a document that no browser shows. */
import * as Plot from '@observablehq/plot'
import {axisOptions, heightOf, lettersOf, logAxes, xOptions} from './axes.js'
import {surroundings} from './ends.js'
import {type Figure, isUpright, joinedValues, shownValues} from './figure.js'
import {beyondMarks, endMarks, guideMarks, seriesMarks} from './marks.js'
import {COLOURS} from './style.js'
import {svgDocument, svgText} from './svg.js'
import {tileMarks} from './tiles.js'

export interface DrawOptions {
  /** In CSS pixels. Default: 640. */
  width?: number
  /** Default: 5/8 of the width. */
  height?: number
  /** Of letters, in CSS pixels. Default: 12. */
  fontSize?: number
  /** Colour of a place in the palette. Default: a custom property `--series-N` of the page, with the palette's as fallback. */
  colour?: (place: number) => string
  /** Colour of what it lies on. Default: a custom property `--paper` of the page, or white. */
  paper?: string
  /** Whether series are named where they end, if all names fit there. Default: false. */
  ends?: boolean
}

/** A drawing, and whether it names its series: those of others want a legend. */
export interface DrawnFigure {
  svg: string
  named: boolean
}

/** One that a page may change, for dark screens. */
const customColour = (place: number) => `var(--series-${place}, ${COLOURS[place]})`

/**
 * Draws a figure without a legend. Each series is in groups of class `series-N`, N its place in the figure; its points
 * have their facts as titles.
 *
 * @param figure - as {@link drawable} leaves it
 */
export function drawFigure(figure: Figure, options: DrawOptions = {}): DrawnFigure {
  const {width = 640, fontSize = 12, colour = customColour, paper = 'var(--paper, white)'} = options
  const {x, y, series, guides, shade} = figure
  const height = heightOf(figure, {height: options.height ?? (width * 5) / 8, fontSize})
  const letters = lettersOf(width, fontSize)
  const around = surroundings(figure, {width, height, fontSize, letters}, options.ends ?? false)
  const named = new Set(around.labels.flatMap(({series: own, lines}) => (own ? [] : lines)))
  const look = {x, y, colour, fontSize, paper}
  const scales = {
    x: xOptions(figure, width / (6 * fontSize)),
    y: axisOptions(y, shownValues(figure, 'y'), {
      ...{ticks: height / (3 * fontSize), letters},
      chosen: joinedValues(figure, 'y'),
    }),
  }
  const plot = Plot.plot({
    document: svgDocument(),
    ...{width, height, ...around.margins},
    style: {fontSize: `${fontSize}px`, background: 'none', overflow: 'visible'},
    ariaLabel: figure.title,
    ariaDescription: figure.caption,
    ...scales,
    ...(shade && {color: {type: shade.scale, scheme: 'viridis', reverse: true}}),
    marks: [
      Plot.frame({stroke: 'currentColor', strokeOpacity: 0.25}),
      ...logAxes(figure, scales),
      ...guides.flatMap((guide, place) => {
        const step = guides.slice(0, place).filter(isUpright).length
        return guideMarks(guide, {inside: !named.has(guide.label), step}, look)
      }),
      ...series.flatMap((own, place) =>
        shade ? tileMarks(own, place, {figure, fontSize}) : seriesMarks(own, place, look),
      ),
      ...around.rows.flatMap(row => beyondMarks(row, series.indexOf(row.series), look)),
      ...endMarks(around, width, look),
    ],
  })
  return {svg: svgText(plot), named: around.named}
}
