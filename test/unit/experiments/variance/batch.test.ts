import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators} from '../../../../src/attention/index.js'
import {estimatorNamed, resolveOptions} from '../../../../src/attention/resolve.js'
import {batchOf, GROUP, NO_PROJECTION} from '../../../../src/experiments/variance/batch.js'

beforeAll(() => loadEstimators())

const SIZE = {num_features: 64, head_dim: 16, orth_sign: 'haar' as const}

function batch(method: string, projection: string, changes: Partial<typeof SIZE> = {}) {
  const estimator = estimatorNamed(method)
  const options = resolveOptions(estimator, 'exact', {})
  return batchOf({cell: {...SIZE, ...changes}, estimator, options, projection})
}

describe('the draws of a variance cell', () => {
  it('are coordinates where features and projection know no direction', () => {
    expect(batch('favor-pos', 'orth')).toMatchObject({plane: 2, columns: 2})
    expect(batch('oprf', 'iid')).toMatchObject({plane: 3, columns: 3})
    for (const [method, projection] of [
      ['favor-pos', 'sobol'],
      ['sderf', 'orth'],
      ['saderf', 'iid'],
      ['maclaurin', NO_PROJECTION],
    ] as const) {
      expect(batch(method, projection)).toMatchObject({plane: undefined, columns: 16})
    }
    expect(batch('favor-pos', 'orth', {head_dim: 2})).toMatchObject({plane: undefined, columns: 2})
  })

  it('are estimated in whole groups, as many as fit, and never less than one', () => {
    const small = batch('favor-pos', 'orth')
    expect(small.draws % GROUP).toBe(0)
    expect(small.draws * (small.drawnBytes + small.madeBytes)).toBeLessThanOrEqual(2 ** 23)
    expect((small.draws + GROUP) * (small.drawnBytes + small.madeBytes)).toBeGreaterThan(2 ** 23)
    expect(batch('favor-pos', 'orth', {num_features: 2 ** 16}).draws).toBe(GROUP)
  })

  it('are one group where matrices are whole or other arrays are drawn', () => {
    expect(batch('favor-pos', 'sobol').draws).toBe(GROUP)
    expect(batch('hrf', 'orth')).toMatchObject({plane: 2, draws: GROUP})
  })
})
