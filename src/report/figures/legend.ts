/** The legend of a figure: samples and labels of its series. */
import * as Plot from '@observablehq/plot'
import {type Figure, type Series, seriesText} from './figure.js'
import {MARKER} from './marks.js'
import {lookOf, PALE} from './style.js'
import {svgDocument, svgText} from './svg.js'

export interface LegendOptions {
  width: number
  fontSize: number
  colour: (place: number) => string
}

/** What pale lines are, where a figure does not say. */
const COMPUTED = 'predicted'

/** What a legend explains: a series, or what pale lines are. */
export interface LegendEntry {
  label: string
  /** Places of its series in the figure. */
  places: readonly number[]
  /** What it is drawn like; `undefined`: a pale line of any colour. */
  series?: Series
}

/** An entry for each measured series, one for all pale lines that lie on these, and one for each of the others. */
export function legendEntries({series, computed = COMPUTED}: Figure): LegendEntry[] {
  const all = series.map((own, place) => ({own, place, look: JSON.stringify(lookOf(own))}))
  const measured = new Set(all.flatMap(({own, look}) => (own.computed ? [] : [look])))
  const isExplained = ({own, look}: (typeof all)[number]) => own.computed && measured.has(look)
  const explained = all.filter(isExplained).map(({place}) => place)
  return [
    ...all
      .filter(one => !isExplained(one))
      .map(({own, place}) => ({label: seriesText(own), places: [place], series: own})),
    ...(explained.length > 0 ? [{label: computed, places: explained}] : []),
  ]
}

/** Width of a letter, and of what stands before a label, in letter sizes. */
const [LETTER, SAMPLE] = [0.52, 3.2]
/** From line to line, in letter sizes. */
const LINE = 1.5

/**
 * Draws samples and labels in the columns that there is room for.
 *
 * @returns an `<svg>` element, empty without entries, and its height
 */
export function drawLegend(
  entries: readonly LegendEntry[],
  {width, fontSize, colour}: LegendOptions,
): {svg: string; height: number} {
  if (entries.length === 0) return {svg: '', height: 0}
  const longest = Math.max(...entries.map(({label}) => label.length))
  const wanted = (longest * LETTER + SAMPLE + 1) * fontSize
  const columns = Math.max(1, Math.min(entries.length, Math.floor(width / wanted)))
  const rows = Math.ceil(entries.length / columns)
  const height = rows * LINE * fontSize
  const plot = Plot.plot({
    document: svgDocument(),
    ...{width, height, margin: 0, axis: null},
    style: {fontSize: `${fontSize}px`, background: 'none'},
    x: {domain: [0, width], range: [0, width]},
    y: {domain: [0, height], range: [0, height]},
    marks: entries.flatMap((entry, place) => {
      const [column, row] = [Math.floor(place / rows), place % rows]
      const corner = [(column * width) / columns, (row + 0.5) * LINE * fontSize] as const
      return entryMarks(entry, corner, {fontSize, colour})
    }),
  })
  return {svg: svgText(plot), height}
}

function entryMarks(
  {label, series}: LegendEntry,
  [x, y]: readonly [number, number],
  {fontSize, colour}: Pick<LegendOptions, 'fontSize' | 'colour'>,
) {
  const style = series && lookOf(series)
  const stroke = style ? colour(style.colour) : 'currentColor'
  const dash = style?.dash === undefined ? {} : {strokeDasharray: style.dash}
  const isPale = !series || series.computed
  const width = isPale
    ? {strokeWidth: PALE.width, strokeOpacity: PALE.opacity}
    : {strokeWidth: 1.6, ...dash}
  const line = [
    [x + 0.3 * fontSize, y],
    [x + (SAMPLE - 0.5) * fontSize, y],
  ] as [number, number][]
  const middle = [x + (SAMPLE / 2) * fontSize, y] as [number, number]
  const fill = series?.open ? 'none' : stroke
  return [
    ...(series?.joined === false ? [] : [Plot.line(line, {stroke, ...width})]),
    ...(style && !isPale
      ? [Plot.dot([middle], {...dotOf(style.marker, fontSize), fill, stroke, strokeWidth: 1.5})]
      : []),
    Plot.text([[x + SAMPLE * fontSize, y]], {text: () => label, textAnchor: 'start'}),
  ]
}

function dotOf(symbol: Plot.SymbolType, fontSize: number) {
  return {symbol, r: fontSize * MARKER}
}
