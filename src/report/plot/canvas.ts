/** Drawing on a terminal: dots of Braille, eight to a character, and characters in their place. */

/** What cells are made of. */
export interface Pen {
  /** Dots of a cell. */
  columns: number
  rows: number
  /** The character of a cell from its dots, bit by bit in the order of rows. */
  character(dots: number): string
}

/** Bit of a dot in a character of Braille (U+2800), in the order of rows. */
const BRAILLE_BITS = [0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80]

/** 2 by 4 dots to a cell. */
export const BRAILLE: Pen = {
  columns: 2,
  rows: 4,
  character: dots => {
    const bits = BRAILLE_BITS.filter((_, at) => dots & (1 << at))
    return String.fromCodePoint(0x2800 + bits.reduce((sum, bit) => sum + bit, 0))
  },
}

/** One dot to a cell, where Braille is missing. */
export const ASCII: Pen = {columns: 1, rows: 1, character: () => '.'}

/** Number of a colour; `null`: that of text. */
export type Ink = number | null

interface Cell {
  dots: number
  /** Stands there instead of dots. */
  character?: string
  ink: Ink
}

/** Cells of a terminal to be drawn on. Places are counted from the upper left; what lies outside is not drawn. */
export class Canvas {
  private readonly cells: Cell[][]

  constructor(
    readonly columns: number,
    readonly rows: number,
    readonly pen: Pen,
  ) {
    this.cells = Array.from({length: rows}, () =>
      Array.from({length: columns}, () => ({dots: 0, ink: null})),
    )
  }

  /** Dots from left to right. */
  get width(): number {
    return this.columns * this.pen.columns
  }

  /** Dots from top to bottom. */
  get height(): number {
    return this.rows * this.pen.rows
  }

  /** Whether nothing has been drawn into the cell of a dot. */
  isFree(x: number, y: number): boolean {
    const cell = this.cellOf(x, y)
    return cell !== undefined && cell.dots === 0 && cell.character === undefined
  }

  dot(x: number, y: number, ink: Ink): void {
    const cell = this.cellOf(x, y)
    if (!cell) return
    const {columns, rows} = this.pen
    cell.dots |= 1 << ((y % rows) * columns + (x % columns))
    cell.ink = ink
  }

  /**
   * Dots from place to place, both of them in it.
   *
   * @param pattern - lengths of strokes and gaps, in dots. Default: solid
   * @param free - draw in cells without anything alone
   */
  line(
    [fromX, fromY]: readonly [number, number],
    [toX, toY]: readonly [number, number],
    {ink, pattern = [1], free = false}: {ink: Ink; pattern?: readonly number[]; free?: boolean},
  ): void {
    const steps = Math.max(Math.abs(toX - fromX), Math.abs(toY - fromY), 1)
    const drawn = new Set<Cell>()
    for (let step = 0; step <= steps; step++) {
      const x = Math.round(fromX + ((toX - fromX) * step) / steps)
      const y = Math.round(fromY + ((toY - fromY) * step) / steps)
      const cell = this.cellOf(x, y)
      if (!cell || !isStroke(pattern, step)) continue
      if (free && !drawn.has(cell) && !this.isFree(x, y)) continue
      drawn.add(cell)
      this.dot(x, y, ink)
    }
  }

  /** A character in the cell of a dot. */
  mark(x: number, y: number, character: string, ink: Ink): void {
    const cell = this.cellOf(x, y)
    if (cell) Object.assign(cell, {character, ink})
  }

  /** The character that was put into the cell of a dot. */
  characterAt(x: number, y: number): string | undefined {
    return this.cellOf(x, y)?.character
  }

  /** Its rows as text. @param paint - a text in a colour */
  lines(paint: (text: string, ink: Ink) => string): string[] {
    return this.cells.map(row =>
      row
        .map(({dots, character, ink}) => {
          if (dots === 0 && character === undefined) return ' '
          return paint(character ?? this.pen.character(dots), ink)
        })
        .join(''),
    )
  }

  private cellOf(x: number, y: number): Cell | undefined {
    const {columns, rows} = this.pen
    return this.cells[Math.floor(y / rows)]?.[Math.floor(x / columns)]
  }
}

function isStroke(pattern: readonly number[], step: number): boolean {
  if (pattern.length < 2) return true
  let left = step % pattern.reduce((sum, length) => sum + length, 0)
  const at = pattern.findIndex(length => {
    left -= length
    return left < 0
  })
  return at % 2 === 0
}
