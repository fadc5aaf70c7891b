/** Optimal positive features formed, shifted by maxima and summed explicitly. */
import {
  add,
  type BoundedMatrix,
  exactly,
  exp,
  filled,
  halfSquaredNorms,
  matMul,
  mul,
  rowSums,
  scale,
  sub,
  transpose,
} from '../bounded.js'
import {U} from '../rounding.js'
import {
  addMoved,
  type Moments,
  oprf,
  type Parameters,
  rounded,
  type Sides,
  sampleOf,
  squaredNorms,
} from './exponential.js'
import {canonical} from './projected.js'
import {forEachHead, type Head, type TwinInputs} from './types.js'
import type {FeatureBuilder} from './weighted.js'

/** Features with an epsilon, each side by its own exponent where sums are divided by its own length. */
export const releasedOprf: FeatureBuilder = (head, given) => {
  const {options} = given
  const {headDim, numFeatures} = head
  const logitScale = given.logitScale * (options.scaledTwice ? headDim ** -0.5 : 1)
  const inputs = {...given, logitScale}
  const own = options.sums === 'own-length'
  const moments = own
    ? sampleOf({...head, sees: () => true}, {...inputs, causal: false, calibration: undefined})
    : sampleOf(head, inputs)
  const featuresOf = (side: 'query' | 'key') => {
    const divided = own ? ownLength(moments, side, head.keyLen / head.queryLen) : moments
    return {...shifted(head, inputs, oprf(divided, options), side), count: numFeatures}
  }
  return {query: featuresOf('query'), key: featuresOf('key')}
}

/** Moments of the other side, multiplied by its number of tokens over the own one. */
function ownLength(moments: Sides<Moments>, side: 'query' | 'key', ratio: number): Sides<Moments> {
  const [other, factor] =
    side === 'query' ? (['key', ratio] as const) : (['query', 1 / ratio] as const)
  const by = (values: Float64Array) => values.map(x => x * factor)
  const {mean, size, outer, outerSize, error} = moments[other]
  const times = {
    mean: by(mean),
    size: by(size),
    outer: by(outer),
    outerSize: by(outerSize),
    error,
  }
  return {...moments, [other]: times}
}

function shifted(
  head: Head,
  inputs: TwinInputs,
  parameters: Parameters,
  side: 'query' | 'key',
): BoundedMatrix {
  const {headDim: n, numFeatures} = head
  const {root: roots, rootError, exponent, exponentError} = parameters
  const tokens = scale(exactly(head[side], head[side].length / n, n), Math.sqrt(inputs.logitScale))
  const rows = exactly(head.projection, numFeatures, n)
  const projected = matMul(tokens, matMul(rows, rounded(roots)), true)
  const weight = rowSums(mul(matMul(rows, rounded(exponent)), rows))
  const logs = sub(add(projected, transpose(weight)), halfSquaredNorms(tokens))
  addMoved(logs, tokens, rows, parameters)
  const root = roots[0]!
  const shift = side === 'query' ? rowMaxima(projected) : filled(1, 1, root * largestKey(inputs))
  // a maximum errs by no more than what it is taken of; that of all heads is divided and multiplied by a root
  const reach = Math.sqrt(Math.max(...squaredNorms(rows)) * Math.max(...squaredNorms(tokens)))
  const most = reach * rootError + projected.error.reduce((a, b) => Math.max(a, b), 0)
  shift.error.forEach((error, i) => {
    shift.error[i] = error + most + 6 * U * Math.abs(shift.value[i]!)
  })
  const constant = filled(1, 1, root ** (n / 2))
  constant.error[0]! += constant.value[0]! * n * (exponentError + 2 * U)
  const features = add(exp(sub(logs, shift)), filled(1, 1, Number(inputs.options.featureEpsilon)))
  return scale(mul(features, constant), numFeatures ** -0.5)
}

function rowMaxima({value, error, rows, columns}: BoundedMatrix): BoundedMatrix {
  const of = (values: Float64Array) =>
    Float64Array.from({length: rows}, (_, i) =>
      Math.max(...values.subarray(i * columns, (i + 1) * columns)),
    )
  return {value: of(value), error: of(error), rows, columns: 1}
}

/** The largest w.y of all keys of all heads. */
function largestKey(inputs: TwinInputs): number {
  let largest = -Infinity
  forEachHead(inputs, ({key, projection, headDim: n, numFeatures}) => {
    const y = exactly(canonical(key, inputs.logitScale), key.length / n, n)
    const {value} = matMul(y, exactly(projection, numFeatures, n), true)
    largest = value.reduce((most, x) => Math.max(most, x), largest)
  })
  return largest
}
