import {describe, expect, it} from 'vitest'
import {damageOverErrors} from '../../../../../src/experiments/swap/report/error-figure.js'
import {LAYERS, swap} from '../../../../helpers/records/swap.js'

const EACH = [0, 1, 2, 3]
const METHODS = ['favor-pos', 'rfa', 'favor-hyp']

/** Errors that fall as damage grows, and means over tokens that grow with it. */
function world() {
  return METHODS.flatMap((method, at) =>
    [EACH, ...EACH.map(layer => [layer])].map(layers => {
      const damage = (at + 1) * (layers.length + layers[0]! + 1)
      return swap({method, layers}, {damage, error: 1 / damage, tokenMean: damage, spread: 0})
    }),
  )
}

describe('the figures of damage over errors', () => {
  it('are over rel L2 and over the error that orders best', () => {
    const names = damageOverErrors(world()).map(({name}) => name)
    expect(names).toEqual(['damage-over-rel-l2', 'damage-over-token-mean-rel-l2'])
  })

  it('have a point for each set of layers, of several the root mean square of single ones', () => {
    const records = world()
    const [figure] = damageOverErrors(records)
    expect(figure!.series.flatMap(({points}) => points)).toHaveLength(records.length)
    const all = figure!.series.find(({method, open}) => method === 'rfa' && open)!
    const singles = EACH.map(layer => 1 / (2 * (2 + layer)))
    const squares = singles.reduce((sum, error) => sum + error ** 2, 0) / LAYERS
    expect(all.points.map(({x}) => x)).toEqual([expect.closeTo(Math.sqrt(squares), 10)])
    expect(figure!.caption).toMatch(/Spearman -0\.\d+ over 15 rows\./)
  })

  it('are none without errors of single layers, or for few rows', () => {
    const records = world()
    expect(damageOverErrors(records.slice(0, 5))).toEqual([])
    const whole = records.filter(({cell}) => cell.layers.length > 1)
    expect(damageOverErrors([...whole, ...whole])).toEqual([])
    const earlier = records.map(record => ({
      ...record,
      result: {...record.result, attention_errors: null},
    }))
    expect(damageOverErrors(earlier)).toEqual([])
  })
})
