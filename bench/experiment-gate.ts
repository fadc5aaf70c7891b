/** A time counts only where both engines found the same. */
import type {CellsRun, PeerAnswer} from './experiment-runs.js'

/**
 * Largest distance of two right answers in standard errors: a false alarm in 500 million checks; a run makes about ten.
 */
const Z = 6

/** Relative rounding of an error that has no noise: double precision against double precision. */
const EXACT = 1e-9

/** @throws {Error} where a cell has no result, or says something else than theory or the peer */
export function assertAgreement(
  name: string,
  outcomes: CellsRun['outcomes'],
  peer: PeerAnswer | undefined,
): void {
  const check = (what: string, distance: number, bound: number) => {
    if (distance <= bound) return
    throw new Error(`${name}: expected ${what} within ${bound}, got ${distance}`)
  }
  for (const outcome of outcomes) {
    if (outcome.status !== 'completed') throw new Error(`${name}: a cell was skipped`)
    const {result} = outcome
    if ('per_projection' in result) checkVariance(result as VarianceNumbers, check)
    else if (peer) checkSweep(result as unknown as SweepNumbers, peer, check)
  }
  if (peer?.worst_z !== undefined) check('means of the peer', peer.worst_z, Z)
}

type Check = (what: string, distance: number, bound: number) => void

/** The numbers of a sweep that the peer has too. */
interface SweepNumbers {
  mse: {mean: number}
  mse_standard_error: number
  mean_value_mse: number
}

function checkSweep(own: SweepNumbers, peer: PeerAnswer, check: Check): void {
  // both average the same values and hold them against the same exact output
  const apart = Math.abs(own.mean_value_mse / peer.mean_value_mse! - 1)
  check('exact outputs', apart, EXACT)
  const error = Math.hypot(own.mse_standard_error, peer.mse_standard_error!)
  check('mean squared errors', Math.abs(own.mse.mean - peer.mse!) / error, Z)
}

/** The numbers of a pair of vectors, `null` where nothing varies. */
interface VarianceNumbers extends Record<string, unknown> {
  closed_form_variance: number
  per_projection: {
    projection: string
    bias_z: number | null
    variance: number | null
    variance_relative_standard_error: number | null
  }[]
}

function checkVariance(
  {closed_form_variance: known, per_projection: rows}: VarianceNumbers,
  check: Check,
): void {
  for (const {projection, bias_z, variance, variance_relative_standard_error: error} of rows) {
    if (bias_z !== null) check('means', Math.abs(bias_z), Z)
    if (projection !== 'iid' || variance === null || error === null) continue
    check('variances', Math.abs(Math.log(variance / known)) / error, Z)
  }
}
