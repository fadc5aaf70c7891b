/** Random Maclaurin features in double precision, with bounds. */
import {ELEMENTARY, gamma, TINY, U} from '../rounding.js'
import {CANONICAL_ROUNDINGS, canonical, project, unitRoundings} from './projected.js'
import {type Head, headMatrix, type TwinInputs} from './types.js'
import {type FeatureBuilder, features} from './weighted.js'

interface Entry {
  value: number
  error: number
}

function times(a: Entry, b: Entry): Entry {
  const value = a.value * b.value
  const spread = Math.abs(a.value) * b.error + a.error * (Math.abs(b.value) + b.error)
  return {value, error: spread + U * (Math.abs(value) + spread) + TINY}
}

/** Degrees N = 0..K with `p_N ~ 2^-(N+1)`: `1 / (N! p_N)`, and the degree at which cumulated p pass u. */
function lawOf(maxDegree: number) {
  const degrees = Array.from({length: maxDegree + 1}, (_, n) => n)
  const total = degrees.reduce((sum, n) => sum + 2 ** -(n + 1), 0)
  const p = degrees.map(n => 2 ** -(n + 1) / total)
  return {
    weight(degree: number): number {
      return degrees.slice(1, degree + 1).reduce((quotient, n) => quotient / n, 1 / p[degree]!)
    },
    quantile(u: number): number {
      let below = 0
      const found = degrees.find(n => {
        below += p[n]!
        return u < below
      })
      return found ?? maxDegree
    },
  }
}

/** The draw of one head: degrees and, one below the other, the vectors of all factors. */
function drawOf(head: Head, inputs: TwinInputs) {
  const maxDegree = Number(inputs.options.maxDegree)
  const law = lawOf(maxDegree)
  const degrees = headMatrix(inputs, inputs.noise.degrees!, head.index).value
  return {
    law,
    maxDegree,
    degrees: Array.from(degrees, law.quantile),
    vectors: headMatrix(inputs, inputs.noise.signs!, head.index).value,
  }
}

/**
 * ln of the lengths, at least 0. A squared length has D + 2 CANONICAL_ROUNDINGS + 2 roundings, its
 * logarithm half of them, a log and a product.
 */
function logLength(x: Float64Array, row: number, headDim: number): Entry {
  const vector = x.subarray(row * headDim, (row + 1) * headDim)
  const squared = vector.reduce((sum, value) => sum + value * value, 0)
  const value = Math.log(Math.max(1, squared)) / 2
  const relative = gamma(headDim + 2 * CANONICAL_ROUNDINGS + 2)
  const surelyShort = squared * (1 + relative) < 1
  return {value, error: surelyShort ? 0 : relative + (ELEMENTARY + 1) * U * value}
}

function rowsOf(raw: Float64Array, head: Head, inputs: TwinInputs) {
  const {headDim} = head
  const {law, maxDegree, degrees, vectors} = drawOf(head, inputs)
  const highest = Math.max(...degrees)
  const x = canonical(raw, inputs.logitScale)
  const count = degrees.length
  const length = x.length / headDim
  const logs = Array.from({length}, (_, row) => logLength(x, row, headDim))
  const short = x.map((value, at) => value / Math.exp(logs[Math.floor(at / headDim)]!.value))
  const projected = project(
    short,
    {projection: vectors, numFeatures: count * maxDegree, headDim},
    CANONICAL_ROUNDINGS + unitRoundings(headDim),
  )
  const out = features(length, count)
  logs.forEach((log, row) => {
    degrees.forEach((degree, i) => {
      const size = Math.sqrt(law.weight(degree) / count)
      const deficit = highest - degree
      const power = Math.exp(-deficit * log.value)
      const powerError = Math.expm1(deficit * (log.error + U * log.value) + ELEMENTARY * U)
      let entry = times(
        {value: size, error: U * size},
        {value: power, error: power * powerError + TINY},
      )
      for (let j = 0; j < degree; j++) {
        const at = row * count * maxDegree + i * maxDegree + j
        entry = times(entry, {value: projected.product[at]!, error: projected.error[at]!})
      }
      out.value[row * count + i] = entry.value
      out.error[row * count + i] = entry.error
    })
  })
  return {out, logs, highest}
}

export const maclaurin: FeatureBuilder = (head, inputs) => {
  const key = rowsOf(head.key, head, inputs)
  return {
    query: rowsOf(head.query, head, inputs).out,
    key: key.out,
    keyLogWeight: {
      value: Float64Array.from(key.logs, ({value}) => key.highest * value),
      error: Float64Array.from(key.logs, ({value, error}) => key.highest * (error + 2 * U * value)),
    },
  }
}
