/** Figures as SVG, by Observable Plot on a document that no browser shows. */
import * as Plot from '@observablehq/plot'
import {axisOptions} from './axes.js'
import {type Figure, joinedValues, shownValues} from './figure.js'
import {heightOf, lettersOf, margins, xOptions} from './margins.js'
import {guideMarks, seriesMarks} from './marks.js'
import {COLOURS} from './style.js'
import {svgDocument, svgText} from './svg-document.js'
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
