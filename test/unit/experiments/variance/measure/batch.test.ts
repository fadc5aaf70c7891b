import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators} from '../../../../../src/attention/index.js'
import {estimatorNamed, resolveOptions} from '../../../../../src/attention/resolve.js'
import {
  batchOf,
  GROUP,
  NO_PROJECTION,
} from '../../../../../src/experiments/variance/measure/batch.js'

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
      ['favor-pos', 'simplex-plus'],
      ['sderf', 'orth'],
      ['saderf', 'iid'],
      ['maclaurin', NO_PROJECTION],
    ] as const) {
      expect(batch(method, projection)).toMatchObject({plane: undefined, columns: 16})
    }
    expect(batch('favor-pos', 'orth', {head_dim: 2})).toMatchObject({plane: undefined, columns: 2})
  })

  it('are turned where rows treat directions differently, by coordinates where those are all that features take', () => {
    const turned = (method: string, projection: string, changes: {orth_sign?: 'raw'} = {}) => {
      const {turned: one, plane, columns, draws} = batch(method, projection, changes as never)
      return [one, plane, columns, draws]
    }
    expect(turned('favor-pos', 'sobol')).toEqual([true, 2, 2, GROUP])
    expect(turned('oprf', 'givens')).toEqual([true, 3, 3, GROUP])
    expect(turned('sderf', 'sorf')).toEqual([true, undefined, 16, GROUP])
    // raw signs are there to show what they cost in one direction
    expect(turned('favor-pos', 'orth-columns')[0]).toBe(true)
    expect(turned('favor-pos', 'orth-columns', {orth_sign: 'raw'})[0]).toBe(false)
    for (const projection of ['iid', 'orth', 'moment', NO_PROJECTION]) {
      expect(batch('maclaurin', projection).turned).toBe(false)
    }
  })

  it('take the work and the memory of the whole matrix where rows are turned', () => {
    const [whole, turned] = [batch('favor-pos', 'moment'), batch('favor-pos', 'sobol')]
    expect(turned.drawnBytes).toBeGreaterThan(12 * 64 * 16)
    expect(turned.operations).toBeGreaterThan(whole.operations / 2)
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
