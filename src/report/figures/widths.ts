/** Widths of columns in papers, in CSS pixels (96 to the inch): one column 3.5 inches, both 7.2. */
export const WIDTHS = {column: 336, page: 691} as const
export type FigureWidth = keyof typeof WIDTHS
