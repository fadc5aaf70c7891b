/** Claims about a whole model: the verdicts that swaps reach. */
import {describe, expect, it} from 'vitest'
import type {ClaimVerdict} from '../../../../src/claims/claim.js'
import {meanOfParts, resampled} from '../../../../src/claims/evidence/swaps.js'
import {outcomes} from '../../../../src/claims/outcome.js'
import {CHARLM_RUN, MINILM_RUN} from '../../../../src/claims/plans.js'
import {ClaimRuns} from '../../../../src/claims/runs.js'
import {swapGrid} from '../../../../src/experiments/swap/grid.js'
import type {CompletedSwap, SwapCell, SwapPlan} from '../../../../src/experiments/swap/schema.js'
import {mean} from '../../../../src/stats/index.js'
import {claimOf} from '../../../helpers/claims.js'
import {LAYERS, type SwapTruth, swap} from '../../../helpers/records/swap.js'

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
  /** @param sign - of what damage does as the error grows */
  const world =
    (sign: 1 | -1, spread = 0.02) =>
    (cell: SwapCell): SwapTruth => {
      const error = errorOf(cell)
      return {error, damage: error ** sign, tokenMean: 1 / error, spread}
    }

  it('holds where errors order methods by their damage, and names no better error', async () => {
    const {verdict, statement} = await outcomeOf('H30', world(1))
    expect(verdict).toBe('holds')
    expect(statement).toContain('it is the highest')
  })

  it('is refuted where they order them the other way, and names the error that orders better', async () => {
    const {verdict, statement} = await outcomeOf('H30', world(-1))
    expect(verdict).toBe('refuted')
    expect(statement).toContain('higher beyond chance: rel L2 of the mean over tokens,')
    expect(statement).toContain('highest: rel L2 of the mean over tokens,')
  })

  it('is inconclusive where draws do not settle an order', async () => {
    const {verdict, inconclusive_because: why} = await outcomeOf('H30', world(1, 2))
    expect([verdict, why]).toEqual(['inconclusive', 'draws'])
  })

  /**
   * Two draws, which are all alike here.
   *
   * @param edit - of each record, by its place among the variants of its layers
   */
  async function edited(edit: (record: CompletedSwap, variant: number) => CompletedSwap) {
    const claim = await claimOf('H30')
    const {[CHARLM_RUN]: plan} = await claim.plans({effort: 'full', seed: 0})
    const seen = new Map<string, number>()
    const grid = await swapGrid({...(plan as SwapPlan), replicates: 2})
    const records = [...grid.cells()].map(cell => {
      const layers = cell.layers.join()
      const variant = seen.get(layers) ?? 0
      seen.set(layers, variant + 1)
      return edit(swap(cell, {spread: 0}), variant)
    })
    const runs = new ClaimRuns(new Map([[CHARLM_RUN, records]]))
    const [found] = await outcomes([claim], runs, () => [])
    return found!
  }
  const withParts = (
    record: CompletedSwap,
    numbers: (group: number) => {damage: number; error: number},
  ): CompletedSwap => {
    const parts = record.result.parts!.map(part => {
      const {damage, error} = numbers(part.group)
      const {attention_errors: own} = part
      const errors = Object.keys(own).map(name => [name, error] as const)
      return {...part, damage, attention_errors: Object.fromEntries(errors) as typeof own}
    })
    return {...record, result: {...record.result, parts}}
  }

  it('takes the root of mean squares of errors: of halves of the texts that differ, the large one counts more', async () => {
    // means fall with the damage, root mean squares rise
    const {quantities} = await edited((record, variant) => {
      const own = 1 - 0.005 * variant
      const spread = Math.sqrt(1 + 0.01 * variant - own ** 2)
      return withParts(record, group => ({
        damage: 0.1 + 0.1 * variant,
        error: group % 2 === 0 ? own + spread : own - spread,
      }))
    })
    const [within] = quantities
    expect(within!.name).toMatch(/Spearman of rel L2 .* mean over layers$/)
    expect(within!.value).toMatchReference(1, 12)
  })

  it('looks inside layers: layers that differ more than methods do not make an order', async () => {
    // in each layer a larger error does less damage; layers with larger errors have more damage
    const {quantities, verdict} = await edited((record, variant) => {
      const layer = record.cell.layers[0]!
      return withParts(record, () => ({
        damage: 10 ** layer - variant / 100,
        error: layer + 1 + variant / 100,
      }))
    })
    expect(quantities[0]!.value).toMatchReference(-1, 12)
    expect(verdict).toBe('refuted')
  })

  it('has methods as the unit: a single one that goes against the others widens the interval', async () => {
    const {quantities} = await edited((record, variant) => {
      const against = record.cell.method === 'mean-value'
      return withParts(record, () => ({
        damage: against ? 0 : 0.1 + 0.1 * variant,
        error: 0.1 + 0.1 * variant,
      }))
    })
    const {value, low, high} = quantities[0]!
    // groups of texts are all alike here, too
    expect(value).toBeLessThan(0.8)
    expect(low).toBeLessThan(value! - 0.2)
    expect(high).toBeGreaterThan(value! + 0.2)
  })

  it('is judged on the encoder, too, where that has been run', async () => {
    const claim = await claimOf('H30')
    const {[CHARLM_RUN]: plan} = await claim.plans({effort: 'quick', seed: 0})
    const cells = [...(await swapGrid(plan as SwapPlan)).cells()]
    const records = (sign: 1 | -1) => cells.map(cell => swap(cell, world(sign)(cell)))
    const runs = new ClaimRuns(
      new Map([
        [CHARLM_RUN, records(1)],
        [MINILM_RUN, records(-1)],
      ]),
    )
    const [found] = await outcomes([claim], runs, () => [])
    expect([found!.verdict, found!.statement]).toEqual([
      'depends',
      expect.stringMatching(/for the character model, .* for MiniLM/),
    ])
  })

  it('asks for the encoder in full runs alone', async () => {
    const claim = await claimOf('H30')
    let asked = 0
    const minilm = async () => {
      asked++
      return null
    }
    const names = async (effort: 'quick' | 'full') =>
      Object.keys(await claim.plans({effort, seed: 0, minilm}))
    expect(await names('quick')).toEqual([CHARLM_RUN])
    expect(asked).toBe(0)
    expect(await names('full')).toEqual([CHARLM_RUN])
    expect(asked).toBe(1)
  })

  it('takes parts', async () => {
    const bare = swap()
    const record = {...bare, result: {...bare.result, parts: null}}
    const runs = new ClaimRuns(new Map([[CHARLM_RUN, [record]]]))
    const [found] = await outcomes([await claimOf('H31')], runs, () => [])
    expect(found!.verdict).toBe('inconclusive')
  })
})

describe('resampled statistics', () => {
  it('have the standard error of a mean: the variance of resamples counts n / (n - 1) times', () => {
    const values = [1, 2, 4]
    const squares = []
    for (let seed = 0; seed < 40; seed++) {
      const sizes = {draws: 1, groups: values.length, methods: 1}
      const {found} = resampled(sizes, seed, ({groups}) => ({
        found: meanOfParts([values], {draws: Float64Array.of(1), groups}),
      }))
      // Student's t with 2 degrees of freedom
      squares.push(((found.estimate.high - found.estimate.value) / 4.302652729911275) ** 2)
    }
    // 7/3 is the variance of the values; 8000 resamples know theirs to 1 / sqrt(4000), five of these are 8 %
    const found = mean(squares) / (7 / 3 / 3)
    expect(Math.abs(found - 1)).toBeLessThan(0.08)
  })
})
