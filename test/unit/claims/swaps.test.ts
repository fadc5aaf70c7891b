/** Claims about a whole model: the verdicts that swaps reach. */
import {describe, expect, it} from 'vitest'
import type {ClaimVerdict} from '../../../src/claims/claim.js'
import {outcomes} from '../../../src/claims/outcome.js'
import {CHARLM_RUN} from '../../../src/claims/plans.js'
import {ClaimRuns} from '../../../src/claims/runs.js'
import {swapGrid} from '../../../src/experiments/swap/grid.js'
import type {SwapCell, SwapPlan} from '../../../src/experiments/swap/schema.js'
import {claimOf} from '../../helpers/claims.js'
import {LAYERS, type SwapTruth, swap} from '../../helpers/records/swap.js'

/** The outcome of a claim where `truthOf` is what is true of each cell. */
async function outcomeOf(id: string, truthOf: (cell: SwapCell) => SwapTruth) {
  const claim = await claimOf(id)
  const {[CHARLM_RUN]: plan} = await claim.plans({effort: 'quick', seed: 0})
  const records = [...(await swapGrid(plan as SwapPlan)).cells()].map(cell =>
    swap(cell, truthOf(cell)),
  )
  const runs = new ClaimRuns(new Map([[CHARLM_RUN, records]]))
  const [found] = await outcomes([claim], runs, () => [])
  return found!
}

const isAll = ({layers}: SwapCell) => layers.length === LAYERS
const depths = (growth: number) => Array.from({length: LAYERS}, (_, at) => 0.1 * growth ** at)

describe('H18', () => {
  const cases: [ClaimVerdict, (cell: SwapCell) => SwapTruth][] = [
    ['holds', () => ({hidden: depths(1.5)})],
    ['refuted', () => ({hidden: depths(0.7)})],
    ['depends', ({method}) => ({hidden: depths(method === 'elu' ? 0.7 : 1.5)})],
    ['inconclusive', () => ({hidden: depths(1), spread: 0.3})],
  ]
  it.each(cases)('%s', async (verdict, truthOf) => {
    expect((await outcomeOf('H18', truthOf)).verdict).toBe(verdict)
  })

  it('gives the factor from layer to layer with its interval', async () => {
    const {quantities, statement} = await outcomeOf('H18', () => ({hidden: depths(1.5)}))
    expect(quantities[0]!.low).toBeLessThan(1.5)
    expect(quantities[0]!.high).toBeGreaterThan(1.5)
    expect(statement).toMatch(/favor-pos orth M=64 1\.(49|50|51)x/)
  })
})

describe('H31', () => {
  /** @param ratio - damage of all layers over the sum of single ones, of noise and of bias */
  const world =
    (noise: number, bias: number, spread = 0.02) =>
    (cell: SwapCell): SwapTruth => {
      const ratio = cell.method.startsWith('favor') ? noise : bias
      return {damage: isAll(cell) ? 0.1 * LAYERS * ratio : 0.1, spread}
    }
  const cases: [ClaimVerdict, (cell: SwapCell) => SwapTruth][] = [
    ['holds', world(1, 1.5)],
    ['refuted', world(1.5, 1)],
    ['depends', world(1, 1)],
    ['inconclusive', world(1.25, 1.25, 0.3)],
  ]
  it.each(cases)('%s', async (verdict, truthOf) => {
    expect((await outcomeOf('H31', truthOf)).verdict).toBe(verdict)
  })

  it('gives ratios with intervals', async () => {
    const {quantities} = await outcomeOf('H31', world(1, 1.5))
    const [noise, , bias] = quantities
    expect(noise!.low).toBeLessThan(1)
    expect(noise!.high).toBeGreaterThan(1)
    expect(bias!.low).toBeLessThan(1.5)
    expect(bias!.high).toBeGreaterThan(1.5)
    expect(bias!.low).toBeGreaterThan(noise!.high!)
  })
})

describe('H30', () => {
  /** Errors from 0.1 on, another one for each method, M and layer. */
  const errorOf = ({method, num_features, layers}: SwapCell) =>
    0.1 + 0.02 * method.length + 0.001 * (num_features ?? 0) + 0.3 * (layers[0] ?? 0)
  /** @param sign - of what damage does as the error grows, with all layers and with one */
  const world =
    (all: number, one: number, spread = 0.02) =>
    (cell: SwapCell): SwapTruth => {
      const error = errorOf(cell)
      const sign = isAll(cell) ? all : one
      return {error, damage: sign === 0 ? 0.5 : error ** sign, tokenMean: 1 / error, spread}
    }
  const cases: [ClaimVerdict, (cell: SwapCell) => SwapTruth][] = [
    ['holds', world(1, 1)],
    ['refuted', world(-1, -1)],
    ['depends', world(1, -1)],
  ]
  it.each(cases)('%s', async (verdict, truthOf) => {
    expect((await outcomeOf('H30', truthOf)).verdict).toBe(verdict)
  })

  it('names the error that orders better', async () => {
    const {statement} = await outcomeOf('H30', world(-1, -1))
    expect(statement).toContain('rel L2 of the mean over tokens')
    expect((await outcomeOf('H30', world(1, 1))).statement).toContain('it is the highest')
  })

  it('is inconclusive where draws do not settle an order', async () => {
    const {verdict, inconclusive_because: why} = await outcomeOf('H30', cell => ({
      ...world(1, 1)(cell),
      spread: 2,
    }))
    expect([verdict, why]).toEqual(['inconclusive', 'draws'])
  })

  it('takes parts', async () => {
    const bare = swap()
    const record = {...bare, result: {...bare.result, parts: null}}
    const runs = new ClaimRuns(new Map([[CHARLM_RUN, [record]]]))
    const [found] = await outcomes([await claimOf('H31')], runs, () => [])
    expect(found!.verdict).toBe('inconclusive')
  })
})
