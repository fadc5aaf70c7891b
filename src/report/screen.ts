/** First screens: what fits a terminal of 24 lines of 80 columns together with the closing lines below. */
import {type Block, type Item, list, text} from './document.js'
import {renderTerminal} from './terminal.js'
import {listed} from './words.js'

export const SCREEN_LINES = 20
/** Columns of a first screen. */
export const SCREEN_WIDTH = 80

export function screenLines(blocks: readonly Block[]): number {
  if (blocks.length === 0) return 0
  return renderTerminal(blocks, {width: SCREEN_WIDTH, colour: false}).split('\n').length
}

export interface Screen {
  title: Block
  /** Sentences. */
  answer: readonly string[]
  /** Rows that the table has. Default: its height is given */
  rows?: number
  /** The table with that many rows above that many notes, and what is said below it. */
  table(rows: number, notes: number): {blocks: readonly Block[]; below: readonly string[]}
  /** What to be wary of, the gravest first. */
  notes: readonly Item[]
  /** Whether notes give way to rows: to six of them, then to three. Default: all are shown */
  yielding?: boolean
}

/** The blocks with the rows that fit, at least one. @param lines - that the blocks may take. Default: {@link SCREEN_LINES} */
export function fittedScreen(screen: Screen, lines = SCREEN_LINES): Block[] {
  const {rows = 1, notes, yielding = false} = screen
  const most = Math.min(rows, lines)
  const fewest = yielding ? 0 : notes.length
  for (const least of yielding ? [6, 3, 1] : [1]) {
    for (let noted = notes.length; noted >= fewest; noted--) {
      for (let shown = most; shown >= Math.min(most, least); shown--) {
        const blocks = blocksOf(screen, shown, noted)
        if (screenLines(blocks) <= lines) return blocks
      }
    }
  }
  return blocksOf(screen, Math.min(rows, 1), fewest)
}

function blocksOf({title, answer, table, notes}: Screen, rows: number, noted: number): Block[] {
  const {blocks, below} = table(rows, noted)
  const shown = notes.slice(0, noted)
  return [title, ...paragraph(answer), ...blocks, ...paragraph(below), ...list(shown)]
}

function paragraph(sentences: readonly string[]): Block[] {
  return sentences.length > 0 ? [text(sentences.join(' '))] : []
}

/** What a screen leaves out: `Shown: 3 of 5 rows; --details has the rest.`, or nothing. @param parts - nouns with their numbers */
export function shownOf(parts: Readonly<Record<string, readonly [shown: number, all: number]>>) {
  const hidden = Object.entries(parts).flatMap(([noun, [shown, all]]) =>
    shown < all ? [`${shown} of ${all} ${noun}`] : [],
  )
  return hidden.length > 0 ? [`Shown: ${listed(hidden)}; --details has the rest.`] : []
}
