/** Metrics of one estimate in a single pass, by the loop of the backend where it has one. */
import {type ErrorSums, type ErrorSumsCall, hostLoops} from '../../../host-loops.js'

/** Sums per head of an estimate against the exact output, which is taken into the running means. */
export function errorSums(call: ErrorSumsCall): ErrorSums[] {
  const own = hostLoops().errorSums
  if (own) return own(call)
  const rows = call.exact.length / call.valueDim / call.heads
  return Array.from({length: call.heads}, (_, head) => headSums(call, head * rows, rows))
}

/** The definition: one entry after the other. */
function headSums(call: ErrorSumsCall, firstRow: number, rows: number): ErrorSums {
  const {estimate, valueDim: dim, group, groupStep} = call
  const sums: ErrorSums = {
    ...{squares: 0, absolutes: 0, largest: 0, cosines: 0, notFinite: 0},
    ...{rowSumDeviations: 0, spread: 0},
  }
  for (let row = firstRow; row < firstRow + rows; row++) {
    addRow(sums, call, row)
    sums.rowSumDeviations += Math.abs(estimate[row * (dim + 1) + dim]! - 1)
    if (group && row % groupStep === 0) addToGroup(call, group, row)
  }
  if (sums.notFinite > 0) sums.largest = Number.NaN
  return sums
}

/** Differences of one row, its cosine, and its part of the running mean. */
function addRow(
  sums: ErrorSums,
  {estimate, exact, valueDim: dim, mean, count}: ErrorSumsCall,
  row: number,
): void {
  const share = 1 / count
  let [inner, estimateNorm, exactNorm] = [0, 0, 0]
  for (let d = 0; d < dim; d++) {
    const a = estimate[row * (dim + 1) + d]!
    const b = exact[row * dim + d]!
    const difference = a - b
    const magnitude = Math.abs(difference)
    const before = difference - mean[row * dim + d]!
    mean[row * dim + d]! += before * share
    sums.spread += before * (difference - mean[row * dim + d]!)
    sums.squares += difference * difference
    sums.absolutes += magnitude
    if (!(magnitude <= sums.largest)) sums.largest = magnitude
    if (!Number.isFinite(a)) sums.notFinite++
    inner += a * b
    estimateNorm += a * a
    exactNorm += b * b
  }
  const lengths = Math.sqrt(estimateNorm * exactNorm)
  sums.cosines += lengths === 0 ? (estimateNorm === exactNorm ? 1 : 0) : inner / lengths
}

function addToGroup(
  {estimate, exact, valueDim: dim, groupStep}: ErrorSumsCall,
  group: Float32Array,
  row: number,
): void {
  const at = (row / groupStep) * dim
  for (let d = 0; d < dim; d++) {
    group[at + d]! += estimate[row * (dim + 1) + d]! - exact[row * dim + d]!
  }
}
