/** Of what characters results are drawn in the terminal, where that is asked for. */
import type {Block} from '../../report/document.js'
import {type Layout, showsUnicode} from '../../report/layout.js'
import type {DrawFigure} from '../../report/terminal.js'

/** Said where a plot was asked for in vain. */
export const NOTHING_TO_PLOT = '--plot: nothing to draw, as no length, M or norm has two values'

/** As much of an output stream as decides on plots. */
interface Output {
  isTTY?: boolean
  getColorDepth?(env?: object): number
}

type Environment = Readonly<Record<string, string | undefined>>

export interface PlotForm {
  /** Braille, else ASCII. */
  unicode: boolean
  /** Whether the palette of figures can be shown: bits of colours, 8 of them or more. */
  colour: boolean
}

/** What plots on a stream are made of. @returns `undefined` where none was asked for */
export function plotForm(
  asked: boolean | undefined,
  output: Output,
  env: Environment,
): PlotForm | undefined {
  if (!asked) return undefined
  const {isTTY = false} = output
  return {unicode: showsUnicode(env), colour: isTTY && (output.getColorDepth?.(env) ?? 1) >= 8}
}

export async function plotter(layout: Layout, {unicode, colour}: PlotForm): Promise<DrawFigure> {
  const {plotFigure} = await import('../../report/plot/plot.js')
  const options = {width: layout.width, colour: colour && layout.colour, unicode}
  return figure => plotFigure(figure, options) ?? ''
}

/** What is shown of a report with its tables in a page. */
export function plotsAndTitles(blocks: readonly Block[]): Block[] {
  return blocks.filter(
    block => block.kind === 'figure' || (block.kind === 'heading' && block.level === 1),
  )
}

/** Blocks with only the first figure of each run, the most important one. */
export function firstFigures(blocks: readonly Block[]): Block[] {
  let seen = false
  return blocks.filter(block => {
    if (block.kind === 'heading' && block.level === 1) seen = false
    if (block.kind !== 'figure') return true
    const first = !seen
    seen = true
    return first
  })
}
