/** Rank correlation. */

/**
 * Spearman's rank correlation, ties at mean ranks. Source: Spearman 1904, "The proof and measurement of association between two
 * things", Am. J. Psychol. 15, 72-101.
 *
 * @param b - the same number of values
 * @returns `NaN` where one side is constant
 */
export function spearman(a: ArrayLike<number>, b: ArrayLike<number>): number {
  return correlation(ranks(a), ranks(b))
}

function ranks(values: ArrayLike<number>): Float64Array {
  const order = new Uint32Array(values.length).map((_, at) => at)
  order.sort((a, b) => values[a]! - values[b]!)
  const found = new Float64Array(values.length)
  for (let start = 0; start < order.length; ) {
    let end = start + 1
    while (end < order.length && values[order[end]!] === values[order[start]!]) end++
    for (let i = start; i < end; i++) found[order[i]!] = (start + end - 1) / 2
    start = end
  }
  return found
}

/** Pearson's, `NaN` where one side is constant. */
function correlation(a: Float64Array, b: Float64Array): number {
  const [meanA, meanB] = [a, b].map(all => all.reduce((sum, x) => sum + x, 0) / all.length)
  let [ab, aa, bb] = [0, 0, 0]
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i]! - meanA!, b[i]! - meanB!]
    ab += x * y
    aa += x * x
    bb += y * y
  }
  return ab / Math.sqrt(aa * bb)
}
