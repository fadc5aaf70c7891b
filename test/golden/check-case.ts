import type {CaseArrays, GoldenCase} from './cases.js'
import {callOf, checkAttention, checkDecoder} from './check.js'
import {METHOD_CHECKS} from './methods/index.js'
import {checkProjection} from './projections.js'
import type {GoldenRequest} from './request.js'
import {checkGaussianKernel, checkSimplexMatrix} from './simplex.js'

/**
 * Holds this library's results on the current backend against a stored case.
 *
 * @throws Error when a result is not the peer's
 */
export function checkCase(golden: GoldenCase, arrays: CaseArrays, request: GoldenRequest): void {
  switch (request.kind) {
    case 'attention':
      for (const method of request.methods) {
        const call = callOf(golden, arrays, request, method)
        checkAttention(golden, arrays, call)
        checkDecoder(golden, arrays, call)
        METHOD_CHECKS[method]?.(golden, arrays, call)
      }
      checkOutputs(golden, arrays)
      break
    case 'projection':
      if (request.projection === 'simplex') checkSimplexMatrix(golden, arrays)
      else checkProjection(golden, arrays, request.projection)
      break
    case 'gaussian-kernel':
      checkGaussianKernel(golden, arrays, request.projection)
  }
}

/** Stored results that need no comparison, with the reason. */
const UNCOMPARED: Readonly<Record<string, string>> = {
  q_bar: 'a mean of queries that the output is made of',
  k_bar: 'a mean of keys that the output is made of',
  out_f32_kernel: 'the output once more, by a float32 kernel of the peer',
}

/** A manifest without requests may name results that this library has nothing to compare with. */
function checkOutputs({name, request, outputs = []}: GoldenCase, {compared}: CaseArrays): void {
  if (!request) return
  const left = outputs.filter(output => !compared.has(output) && !(output in UNCOMPARED))
  if (left.length === 0) return
  throw new Error(
    `${name}: expected each stored result to be compared, got none for ${left.join(', ')} (try a check in test/golden/methods)`,
  )
}
