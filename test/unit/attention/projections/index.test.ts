import {describe, expect, it} from 'vitest'
import {
  drawProjection,
  ORTH_SIGNS,
  PROJECTION_NAMES,
  type ProjectionName,
  projectionNamed,
} from '../../../../src/attention/index.js'
import {MAX_SOBOL_DIM} from '../../../../src/attention/projections/sobol.js'

const draw = (name: ProjectionName, more: object = {}) =>
  drawProjection({name, heads: 1, numFeatures: 10, headDim: 5, seed: 2, ...more})

describe('projections', () => {
  it.each(PROJECTION_NAMES)('%s: states what it is in one line, and a source', name => {
    const {title, citation} = projectionNamed(name)
    expect(title).toMatch(/^[^\n.]{10,100}$/)
    expect(citation).not.toBe('')
  })

  it.each(PROJECTION_NAMES)('%s: draws finite numbers at any size it does not refuse', name => {
    for (const [numFeatures, headDim] of [
      [1, 1],
      [3, 1],
      [2, 2],
      [3, 8],
      [8, 8],
      [17, 5],
      [33, 16],
    ] as const) {
      if (projectionNamed(name).refuses?.({numFeatures, headDim})) continue
      const rows = draw(name, {numFeatures, headDim, heads: 3})
      expect(rows).toHaveLength(3 * numFeatures * headDim)
      expect(rows.every(Number.isFinite), `M ${numFeatures} D ${headDim}`).toBe(true)
    }
  })

  it.each(PROJECTION_NAMES.filter(name => projectionNamed(name).extends !== false))(
    '%s: a smaller draw is the beginning of a larger one',
    name => {
      expect(draw(name, {numFeatures: 17}).subarray(0, 50)).toEqual(draw(name))
    },
  )

  it.each(PROJECTION_NAMES)('%s: heads, seeds, replicates and redraws differ', name => {
    const two = draw(name, {heads: 2})
    const first = two.slice(0, 50)
    expect(draw(name)).toEqual(first)
    expect(draw(name, {replicate: 0, redraw: 0})).toEqual(first)
    const others = [
      two.slice(50),
      draw(name, {seed: 3}),
      draw(name, {replicate: 1}),
      draw(name, {redraw: 1}),
      draw(name, {redraw: 1, replicate: 1}),
      draw(name, {redraw: 2}),
    ]
    const texts = [first, ...others].map(rows => rows.join())
    expect(new Set(texts).size).toBe(texts.length)
  })

  it.each(PROJECTION_NAMES)('%s: signs matter where it says so', name => {
    const raw = draw(name, {orthSign: 'raw'})
    const changed = raw.join() !== draw(name).join()
    expect(changed).toBe(projectionNamed(name).takesOrthSign ?? false)
    expect(ORTH_SIGNS[0]).toBe('haar')
  })
})

describe('what cannot be drawn', () => {
  it.each(['heads', 'numFeatures', 'headDim'])('refuses a %s below 1', what => {
    expect(() => draw('iid', {[what]: 0})).toThrow(
      `${what}: expected a whole number of at least 1, got 0`,
    )
  })

  it.each(['seed', 'replicate', 'redraw'])('refuses a negative %s', what => {
    expect(() => draw('iid', {[what]: -1})).toThrow(
      `${what}: expected a whole number of at least 0, got -1`,
    )
  })

  it('guesses the name that was meant', () => {
    expect(() => draw('orthh' as 'orth')).toThrow(/one of the projections iid, orth/)
    expect(() => draw('orth', {orthSign: 'lapack'})).toThrow(/one of the signs haar, raw/)
  })

  it('moment needs more rows than columns', () => {
    expect(() => draw('moment', {numFeatures: 5})).toThrow(
      'numFeatures: expected more than the head dimension 5 for moment, got 5',
    )
  })

  it('orth-tall needs as many rows as columns', () => {
    expect(() => draw('orth-tall', {numFeatures: 4})).toThrow(
      'numFeatures: expected at least the head dimension 5 for orth-tall, got 4',
    )
  })

  it('sobol ends with its table', () => {
    const headDim = MAX_SOBOL_DIM + 1
    expect(() => draw('sobol', {numFeatures: 1, headDim})).toThrow(
      `headDim: expected at most ${MAX_SOBOL_DIM} for sobol, got ${headDim}`,
    )
    expect(draw('sobol', {numFeatures: 1, headDim: MAX_SOBOL_DIM})).toHaveLength(MAX_SOBOL_DIM)
  })
})
