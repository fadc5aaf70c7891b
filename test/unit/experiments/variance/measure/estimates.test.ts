import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators} from '../../../../../src/attention/index.js'
import {estimatorNamed, resolveOptions} from '../../../../../src/attention/resolve.js'
import {useBackend} from '../../../../../src/backends/index.js'
import {batchOf, GROUP} from '../../../../../src/experiments/variance/measure/batch.js'
import {
  estimateRequest,
  kernelEstimates,
} from '../../../../../src/experiments/variance/measure/estimates.js'
import type {VarianceCell} from '../../../../../src/experiments/variance/schema.js'

beforeAll(async () => {
  await loadEstimators()
  await useBackend('cpu')
})

const CELL: VarianceCell = {
  ...{method: 'favor-pos', preset: 'exact', options: {}, projections: ['iid'], orth_sign: 'haar'},
  ...{num_features: 12, head_dim: 6, norm: 0.5, angle_deg: 70, replicates: 100, seed: 1},
  backend: 'cpu',
}

function request(changes: Partial<VarianceCell>) {
  const cell = {...CELL, ...changes}
  const estimator = estimatorNamed(cell.method)
  return estimateRequest(cell, estimator, resolveOptions(estimator, 'exact', cell.options))
}

const estimates = (projection: string, changes: Partial<VarianceCell> = {}) =>
  kernelEstimates(request(changes), projection)

describe('kernel estimates', () => {
  it.each([
    ['favor-pos', 'orth'],
    ['oprf', 'iid'],
    ['hrf', 'simplex'],
    ['favor-pos', 'givens'],
    ['maclaurin', 'none'],
  ])('of %s, %s: the first ones are the same however many there are', (method, projection) => {
    const long = estimates(projection, {method, replicates: 3 * GROUP + 5})
    expect(new Set(long).size).toBe(long.length)
    for (const replicates of [5, GROUP, GROUP + 1]) {
      const short = estimates(projection, {method, replicates})
      expect(short).toEqual(long.subarray(0, replicates))
    }
  })

  it('of a draw do not depend on what is estimated with it', () => {
    const size = {num_features: 2048, replicates: 2 * GROUP}
    const cell = {...CELL, ...size}
    const {estimator, options} = request(size)
    expect(batchOf({cell, estimator, options, projection: 'iid'}).draws).toBe(GROUP)
    const alone = estimates('iid', {...size, replicates: GROUP})
    expect(estimates('iid', size).subarray(0, GROUP)).toEqual(alone)
  })

  it('of methods whose rows are drawn alike share draws', () => {
    const [first, second] = [estimates('iid'), estimates('iid', {method: 'favor-exp'})]
    // exp(w.(x+y)) of both, but for a factor; some roundings of features each
    const factor = Math.exp(0.5 ** 2)
    first.forEach((estimate, at) => {
      expect(Math.abs((factor * estimate) / second[at]! - 1)).toBeLessThan(64 * 2 ** -24)
    })
  })

  it('of orthogonal rows go with those of independent ones', () => {
    const [iid, orth] = [estimates('iid'), estimates('orth')]
    const centred = (values: Float64Array) => {
      const mean = values.reduce((sum, value) => sum + value, 0) / values.length
      return values.map(value => value - mean)
    }
    const [a, b] = [centred(iid), centred(orth)]
    const dot = (x: Float64Array, y: Float64Array) => x.reduce((sum, e, i) => sum + e * y[i]!, 0)
    // in the plane they differ in lengths alone; independent samples of 100 correlate beyond 0.4 once in 10^4
    expect(dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))).toBeGreaterThan(0.5)
  })

  it('gives features that look at data the pair in D dimensions to be judged by', () => {
    const {calibration, x, inPlane} = request({method: 'oprf'})
    expect([calibration.query.length, calibration.query[0]!.length, x.length]).toEqual([256, 6, 6])
    expect(inPlane.x.length).toBe(2)
    // raw vectors are D^(1/4) times the canonical ones
    expect(request({method: 'rfa'}).inPlane.x[0]).toMatchReference(0.5 * 6 ** 0.25, 14)
  })
})
