/** Features that are functions of one or two entries of a token, in double precision, with bounds. */
import {ELEMENTARY, TINY, U} from '../rounding.js'
import type {Head, TwinInputs} from './types.js'
import {type FeatureBuilder, type Features, features} from './weighted.js'

/** `elu(x) + 1`, the query side optionally times D^-1/2. */
export const eluPlusOne: FeatureBuilder = (head, {options}) => {
  const rows = (x: Float64Array, scale: number): Features => {
    const out = features(x.length / head.headDim, head.headDim)
    x.forEach((value, at) => {
      out.value[at] = scale * (value > 0 ? value + 1 : Math.exp(value))
      out.error[at] = (ELEMENTARY + 3) * U * out.value[at]! + TINY
    })
    return out
  }
  const queryScale = options.queryScale === 'rsqrt-head-dim' ? head.headDim ** -0.5 : 1
  return {query: rows(head.query, queryScale), key: rows(head.key, 1)}
}

/** `relu(x)^2`, or `x^2`: one product. */
export const squared: FeatureBuilder = ({query, key, headDim}, {options}) => {
  const rows = (x: Float64Array): Features => {
    const out = features(x.length / headDim, headDim)
    x.forEach((value, at) => {
      out.value[at] = options.part === 'positive' && value < 0 ? 0 : value ** 2
      out.error[at] = out.value[at] === 0 ? 0 : U * out.value[at]! + TINY
    })
    return out
  }
  return {query: rows(query), key: rows(key)}
}

/** Products of `[relu(x), relu(-x)]` with itself rolled by 1 to nu. */
export const rolledProducts: FeatureBuilder = (head, {options}) => {
  const nu = Number(options.nu)
  const width = 2 * head.headDim
  const rows = (x: Float64Array): Features => {
    const length = x.length / head.headDim
    const out = features(length, width * nu)
    const entry = (row: number, d: number) => {
      const value = x[row * head.headDim + (d % head.headDim)]!
      return Math.max(0, d < head.headDim ? value : -value)
    }
    for (let row = 0; row < length; row++) {
      for (let at = 0; at < width * nu; at++) {
        const d = at % width
        const shift = Math.floor(at / width) + 1
        const other = (((d - shift) % width) + width) % width
        const index = row * width * nu + at
        out.value[index] = entry(row, d) * entry(row, other)
        out.error[index] = U * out.value[index]! + TINY // one product
      }
    }
    return out
  }
  return {query: rows(head.query), key: rows(head.key)}
}

/** `(relu(x) + epsilon) [cos a_i, sin a_i]`, `a_i = pi i / (2 M)`. */
export const cosines: FeatureBuilder = (head, inputs) => {
  const {headDim} = head
  const epsilon = Number(inputs.options.featureEpsilon)
  const length = positions(head, inputs)
  const rows = (x: Float64Array): Features => {
    const out = features(x.length / headDim, 2 * headDim)
    x.forEach((value, from) => {
      const row = Math.floor(from / headDim)
      const angle = (Math.PI / 2) * (row / length)
      const size = Math.max(0, value) + epsilon
      // an angle has 3 roundings; cos or sin, sum and product
      const error = size * U * (3 * angle + ELEMENTARY + 3) + (size === 0 ? 0 : TINY)
      const at = row * out.count + (from % headDim)
      out.value[at] = size * Math.cos(angle)
      out.value[at + headDim] = size * Math.sin(angle)
      out.error[at] = error
      out.error[at + headDim] = error
    })
    return out
  }
  return {query: rows(head.query), key: rows(head.key)}
}

/** M: as told, or the number of queries or, if larger, of keys up to the last one present. */
function positions({index, queryLen, keyLen}: Head, {query, keyMask, options}: TwinInputs): number {
  if (options.maxLength !== null) return Number(options.maxLength)
  const first = Math.floor(index / query.shape[1]) * keyLen
  let last = keyLen
  while (keyMask && last > 0 && keyMask[first + last - 1] === 0) last--
  return Math.max(queryLen, last)
}
