/** What the letters and dots of a plot mean. */
import {type Figure, seriesText} from '../figures/figure.js'
import type {Ink} from './canvas.js'
import type {Drawn, Lettered} from './draw.js'

/** Columns between entries. */
const GAP = '   '

interface LegendOptions {
  drawn: Drawn
  width: number
  /** A text in a colour. */
  paint(text: string, ink: Ink): string
}

/** The legend, in the lines that it needs. */
export function legendLines(
  {guides}: Figure,
  series: readonly Lettered[],
  {drawn, width, paint}: LegendOptions,
): string[] {
  const entries: {sample: string; ink: Ink; label: string}[] = [
    ...series.map(({letter, ink, series: own}) => {
      return {sample: letter ?? '..', ink, label: seriesText(own)}
    }),
    ...(guides.length > 0 ? [entry('. .', guides.map(({label}) => label).join('; '))] : []),
    ...(drawn.intervals ? [entry('|', 'intervals, where there is room')] : []),
    ...(drawn.aside ? [entry('ab', 'side by side: at one place')] : []),
  ]
  const lines: {text: string; columns: number}[] = []
  for (const {sample, ink, label} of entries) {
    const text = `${paint(sample, ink)} ${label}`
    const columns = sample.length + 1 + label.length
    const last = lines.at(-1)
    if (last && last.columns + GAP.length + columns <= width) {
      last.text += GAP + text
      last.columns += GAP.length + columns
    } else {
      lines.push({text, columns})
    }
  }
  return lines.map(({text}) => text)
}

function entry(sample: string, label: string) {
  return {sample, ink: null, label}
}
