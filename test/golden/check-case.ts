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
      break
    case 'projection':
      if (request.projection === 'simplex') checkSimplexMatrix(golden, arrays)
      else checkProjection(golden, arrays, request.projection)
      break
    case 'gaussian-kernel':
      checkGaussianKernel(golden, arrays, request.projection)
  }
}
