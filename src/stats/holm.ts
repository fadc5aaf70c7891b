/**
 * Adjusted p-values of several tests: rejecting those of at most alpha, the chance of any false alarm among all is at most
 * alpha, however the tests depend on each other.
 *
 * Source: Holm 1979, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 65-70.
 *
 * @param pValues - of one test each; `NaN`, a test that could not be made, counts as one and stays `NaN`
 * @returns in the order given, each at most 1
 */
export function holm(pValues: ArrayLike<number>): number[] {
  const adjusted = Array.from(pValues, () => Number.NaN)
  const order = Array.from(pValues, (_, at) => at)
    .filter(at => !Number.isNaN(pValues[at]))
    .sort((a, b) => pValues[a]! - pValues[b]!)
  let largest = 0
  order.forEach((at, rank) => {
    largest = Math.max(largest, Math.min(1, (pValues.length - rank) * pValues[at]!))
    adjusted[at] = largest
  })
  return adjusted
}
