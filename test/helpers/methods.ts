/** Methods by their declared facts, and cases of each. */

import {noiseSpecs} from '../../src/attention/forms/noise.js'
import {type Estimator, METHOD_NAMES, type MethodName} from '../../src/attention/index.js'
import {estimatorNamed, usesProjection} from '../../src/attention/resolve.js'
import {type Sizes, SMALL} from './arrays.js'
import type {EstimatorCase} from './estimator-case.js'

/** Methods whose facts satisfy a condition. */
export function methodsWhere(condition: (estimator: Estimator) => boolean): MethodName[] {
  return METHOD_NAMES.filter(name => condition(estimatorNamed(name)))
}

/** Methods that draw something, with default options. */
export function randomMethods(): MethodName[] {
  const shape = {...SMALL, queryLen: SMALL.keyLen, causal: false}
  return methodsWhere(
    estimator =>
      usesProjection(estimator, estimator.options.parse({})) ||
      Object.keys(noiseSpecs(estimator, shape, estimator.options.parse({}))).length > 0,
  )
}

/** Bidirectional and causal, as far as the method has them. */
export function formsOf(method: MethodName): {causal: boolean; form: string}[] {
  const {supports} = estimatorNamed(method)
  return [
    ...(supports.bidirectional ? [{causal: false, form: 'bidirectional'}] : []),
    ...(supports.causal ? [{causal: true, form: 'causal'}] : []),
  ]
}

/** Sizes with as many keys as queries where the method has no cross form. */
export function fitting(method: MethodName, sizes: Sizes): Sizes {
  return estimatorNamed(method).supports.cross ? sizes : {...sizes, queryLen: sizes.keyLen}
}

/** A case of the method on `sizes`, with inputs of unit or given scale. */
export function caseOf(method: MethodName, sizes: Sizes, rest: Partial<EstimatorCase> = {}) {
  return {method, sizes: fitting(method, sizes), ...rest} satisfies EstimatorCase
}
