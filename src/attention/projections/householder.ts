import {rowOf} from './rows.js'

/**
 * Signs that LAPACK's Householder QR gives the diagonal of R, with the given rows as columns of the matrix. Its
 * orthogonal factor is the one for a positive diagonal times these signs, column by column: reflection i maps the
 * rest of column i to minus the sign of its first entry; a column with one entry left is not reflected and keeps
 * its sign.
 *
 * @param rows - `[R, width]`, R <= width; not changed
 * @returns R signs, 1 or -1
 *
 * Source: LAPACK, dlarfg and dgeqr2.
 */
export function householderSigns(rows: Float64Array, width: number): Float64Array {
  const count = rows.length / width
  const rest = Float64Array.from(rows)
  const signs = new Float64Array(count)
  for (let i = 0; i < count; i++) {
    const column = rowOf(rest, i, width)
    const last = i === width - 1
    signs[i] = column[i]! < 0 === last ? -1 : 1
    if (!last) reflect(rest, column, i, width)
  }
  return signs
}

/** Applies the reflection that clears `column` below entry `first` to all later columns. */
function reflect(rest: Float64Array, column: Float64Array, first: number, width: number): void {
  let squares = 0
  for (let d = first; d < width; d++) squares += column[d]! ** 2
  const beta = Math.sqrt(squares) * (column[first]! < 0 ? 1 : -1)
  const mirror = Float64Array.from(column)
  mirror[first]! -= beta
  const scale = squares - column[first]! * beta // |mirror|^2 / 2
  if (scale === 0) return
  for (let at = (first + 1) * width; at < rest.length; at += width) {
    const other = rest.subarray(at, at + width)
    let dot = 0
    for (let d = first; d < width; d++) dot += mirror[d]! * other[d]!
    for (let d = first; d < width; d++) other[d]! -= (dot / scale) * mirror[d]!
  }
}
