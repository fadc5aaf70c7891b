/** How wide and how colourful a terminal's output may be. */
export interface Layout {
  /** Columns; 120 where the output is not a terminal. */
  width: number
  /** Whether escape sequences are welcome. */
  colour: boolean
}
