import {describe, expect, it} from 'vitest'
import {normals, randomStream} from '../../../../src/random/index.js'
import {ratioMoments} from '../../../../src/theory/attention-ratio.js'
import {
  type CosineHead,
  cosineDenominators,
  cosineErrors,
} from '../../../../src/theory/ratio-error/cosines.js'
import {exactOutputs, sampledQueries} from '../../../../src/theory/ratio-error/queries.js'
import {assertNear, moments} from '../../../helpers/statistics.js'

const SIZE = {headDim: 3, valueDim: 2}
const numbers = (name: string, count: number, scale: number) =>
  normals(randomStream(5, name), count).map(entry => scale * entry)
const headOf = (causal: boolean): CosineHead => ({
  ...{query: numbers('query', 7 * 3, 0.4), key: numbers('key', 7 * 3, 0.5)},
  ...{value: numbers('value', 7 * 2, 1), ...SIZE, causal},
})

/** Output of rows, by cosines of differences. */
function outputOf(head: CosineHead, place: number, rows: Float64Array): number[] {
  const {query, key, value, causal} = head
  const out = [0, 0]
  let den = 0
  for (let j = 0; j < (causal ? place + 1 : 7); j++) {
    const y = key.subarray(3 * j, 3 * j + 3)
    const half = y.reduce((sum, e) => sum + e * e, 0) / 2
    for (let row = 0; row < rows.length; row += 3) {
      const angle = y.reduce((sum, e, d) => sum + rows[row + d]! * (query[3 * place + d]! - e), 0)
      const weight = Math.exp(half) * Math.cos(angle)
      den += weight
      for (const d of [0, 1]) out[d]! += weight * value[2 * j + d]!
    }
  }
  return out.map(entry => entry / den)
}

describe('errors of sines and cosines', () => {
  it.each([false, true])('of draws are those of cosines of differences (causal: %s)', causal => {
    const head = headOf(causal)
    const queries = sampledQueries(head, 5)
    const exact = exactOutputs(head, queries)
    const judged = {queries, exact, denominators: cosineDenominators(head, queries)}
    const rows = numbers('rows', 64 * 3, 1)
    const {drawn} = cosineErrors(head, judged, {rows, numFeatures: [8, 16, 32]})
    for (const [k, M] of [8, 16, 32].entries()) {
      const wanted = Float64Array.from({length: 64 / M}, (_, draw) => {
        const own = rows.subarray(3 * M * draw, 3 * M * (draw + 1))
        let sum = 0
        for (const [i, place] of queries.places.entries()) {
          const out = outputOf(head, place, own)
          for (const d of [0, 1]) sum += (out[d]! - exact[2 * i + d]!) ** 2
        }
        return sum
      })
      drawn[k]!.forEach((error, draw) => {
        expect(error).toMatchReference(wanted[draw]!, 9)
      })
    }
  })

  it('have the moments of the delta method, which are known for independent rows', () => {
    const head = headOf(false)
    const queries = sampledQueries(head, 7)
    const exact = exactOutputs(head, queries)
    const judged = {queries, exact, denominators: cosineDenominators(head, queries)}
    const count = 2 ** 15
    const rows = numbers('many rows', count * 3, 1)
    const {variance, spread} = cosineErrors(head, judged, {rows, numFeatures: [1]})
    let [wanted, relative] = [0, 0]
    const vectors = (all: Float64Array | Float32Array, size: number) =>
      Array.from({length: 7}, (_, j) => Float64Array.from(all.subarray(j * size, (j + 1) * size)))
    for (const query of vectors(head.query, 3)) {
      const row = {query, keys: vectors(head.key, 3), values: vectors(head.value, 2)}
      const moments = ratioMoments(row, 'trigonometric', 1)
      wanted += moments.variance[0]! + moments.variance[1]!
      relative += moments.denominatorVariance / 7
    }
    // means of 32768 squares, which vary by about their mean: 0.6 % each, and 4.5 of these
    expect(Math.abs(variance / wanted - 1)).toBeLessThan(0.05)
    expect(Math.abs(spread / relative - 1)).toBeLessThan(0.05)
  })

  it('have the bias of the delta method, at every M of which there are draws enough', () => {
    const head = headOf(false)
    const queries = sampledQueries(head, 7)
    const exact = exactOutputs(head, queries)
    const judged = {queries, exact, denominators: cosineDenominators(head, queries)}
    const runs = Array.from({length: 64}, (_, run) => {
      const rows = numbers(`rows of run ${run}`, 512 * 3, 1)
      return cosineErrors(head, judged, {rows, numFeatures: [1, 2, 4, 8, 16, 32, 64]}).bias
    })
    // 16 draws of 32 rows, 8 of 64
    expect(runs[0]!.length).toBe(6)
    const vectors = (all: Float64Array | Float32Array, size: number) =>
      Array.from({length: 7}, (_, j) => Float64Array.from(all.subarray(j * size, (j + 1) * size)))
    const [keys, values] = [vectors(head.key, 3), vectors(head.value, 2)]
    for (const [i, query] of vectors(head.query, 3).entries()) {
      const {bias} = ratioMoments({query, keys, values}, 'trigonometric', 1)
      for (const [k, M] of [1, 2, 4, 8, 16, 32].entries()) {
        for (const d of [0, 1]) {
          const {mean, standardError} = moments(runs.map(run => run[k]![2 * i + d]!))
          assertNear(`bias of output ${i}, ${d} at M = ${M}`, mean, bias[d]! / M, standardError)
        }
      }
    }
  })
})
