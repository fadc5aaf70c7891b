/** First screens: what fits a terminal of 24 lines of 80 columns together with the closing lines below. */
import type {Block} from './document.js'
import {renderTerminal} from './terminal.js'

/** Lines of a first screen. */
export const SCREEN_LINES = 20
/** Columns of a first screen. */
export const SCREEN_WIDTH = 80

/** Lines that blocks take on a screen. */
export function screenLines(blocks: readonly Block[]): number {
  if (blocks.length === 0) return 0
  return renderTerminal(blocks, {width: SCREEN_WIDTH, colour: false}).split('\n').length
}

/**
 * The blocks with the rows that fit, at least one.
 *
 * @param rows - how many there are
 * @param make - blocks with that number of rows
 * @param lines - that the blocks may take. Default: {@link SCREEN_LINES}
 */
export function fittedScreen(
  rows: number,
  make: (rows: number) => Block[],
  lines = SCREEN_LINES,
): Block[] {
  for (let shown = Math.min(rows, lines); shown > 1; shown--) {
    const blocks = make(shown)
    if (screenLines(blocks) <= lines) return blocks
  }
  return make(Math.min(rows, 1))
}
