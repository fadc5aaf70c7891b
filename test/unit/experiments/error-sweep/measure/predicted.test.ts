import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {
  type Curve,
  errorAt,
  lastError,
  neededFor,
} from '../../../../../src/experiments/error-sweep/curve.js'
import {errorSweepGrid} from '../../../../../src/experiments/error-sweep/grid.js'
import type {
  ErrorSweepPlan,
  ErrorSweepResult,
} from '../../../../../src/experiments/error-sweep/schema.js'
import type {CellOutcome} from '../../../../../src/experiments/experiment.js'
import {writeArrays} from '../../../../../src/inputs/files/index.js'
import type {NdArray} from '../../../../../src/inputs/nd-array.js'
import {normals, randomStream} from '../../../../../src/random/index.js'
import {cellsOf} from '../../../../helpers/cells.js'
import {sample} from '../../../../helpers/effort.js'
import {newFolder} from '../../../../helpers/folders.js'
import {method as methodOf, sweep} from '../../../../helpers/plans.js'
import {assertNear} from '../../../../helpers/statistics.js'

/** Errors M^(-1/2), at the powers of two from 8 to 2^24. */
const FALLING: Curve = {
  errors: Array.from({length: 22}, (_, i) => 2 ** (-(i + 3) / 2)),
  unknown: null,
}

describe('a curve of predicted errors', () => {
  it('is read between its points by powers of M', () => {
    expect(errorAt(FALLING, 8)).toMatchReference(8 ** -0.5, 12)
    expect(errorAt(FALLING, 100)).toMatchReference(0.1, 12)
    expect(errorAt(FALLING, 2 ** 24)).toMatchReference(2 ** -12, 12)
    expect(errorAt(FALLING, 7)).toBeNull()
    expect(errorAt(FALLING, 2 ** 25)).toBeNull()
  })

  it('carries a measured error on to 5 %', () => {
    // 0.05 = M^(-1/2) at 400, and 2 M^(-1/2) at 1600, in full from an M of many draws
    const needed = (measured: number | null, curve = FALLING) => neededFor(curve, 100, measured)
    expect(needed(null)).toMatchObject({needed: 400, unknown: null})
    expect(Math.abs(neededFor(FALLING, 4096, 2 ** -5).needed! - 1600)).toBeLessThanOrEqual(1)
    expect(needed(1e-3).needed).toBe(8)
    expect(neededFor(FALLING, 4096, 1e3)).toMatchObject({needed: null, unknown: null})
    expect(needed(0, {errors: new Array(22).fill(0), unknown: null}).needed).toBe(8)
  })

  it('goes on from draws of many features, not from few replicates at a small M', () => {
    // twice as large at 64, and at 4096 as drawn: between them the factor fades by powers of M
    const at = (numFeatures: number) => neededFor(FALLING, numFeatures, 2 * numFeatures ** -0.5)
    expect(Math.abs(at(4096).needed! - 1600)).toBeLessThanOrEqual(1)
    const wanted = {...FALLING, errors: FALLING.errors.map(error => 4 * error!)}
    expect(neededFor(wanted, 64, 2 * 0.5).needed).toBe(6400)
  })

  it('gives ends by the factor that two seeds may differ by, squared from few draws on', () => {
    const {needed, low, high} = neededFor(FALLING, 100, null)
    expect([low, needed, high]).toEqual([
      Math.ceil(400 / 1.15 ** 2),
      400,
      Math.ceil(400 * 1.15 ** 2),
    ])
    const few = neededFor({...FALLING, drawn: 256}, 100, null)
    expect([few.low, few.high]).toEqual([Math.ceil(400 / 1.15 ** 4), Math.ceil(400 * 1.15 ** 4)])
    const upTo512 = FALLING.errors.map((error, k) => (2 ** (k + 3) > 512 ? null : error))
    const {high: open} = neededFor({errors: upTo512, unknown: 'uncertain'}, 100, null)
    expect(open).toBeNull()
  })

  it('ends with the error at the largest M that was drawn', () => {
    const upTo4096 = FALLING.errors.map((error, k) => (2 ** (k + 3) > 4096 ? null : error))
    const curve: Curve = {errors: upTo4096, unknown: 'uncertain', drawn: 4096}
    const last = lastError(curve, 64, null)!
    expect([last.numFeatures, last.error.value]).toEqual([4096, 2 ** -6])
    expect(last.error.high! / last.error.value).toMatchReference(1.15, 12)
    expect(lastError(curve, 4096, null)).toBeUndefined()
    expect(lastError({...curve, drawn: 256}, 64, null)?.numFeatures).toBe(256)
    expect(lastError({...curve, largest: 4096}, 64, null)).toBeUndefined()
  })

  it('says why it ends above 5 %', () => {
    const errors = FALLING.errors.map(error => Math.max(error!, 0.06))
    const curve: Curve = {errors, unknown: null, largest: 300}
    expect(neededFor(curve, 64, 1 / 8)).toMatchObject({needed: null, unknown: 'tokens'})
    expect(neededFor(curve, 64, 1 / 16).needed).toBeLessThan(300)
  })

  it('names no more proposals than there are', () => {
    // 0.05 with all 300 tokens, which stand at 512
    const errors = FALLING.errors.map((_, at) => (2 ** (at + 3) < 300 ? 0.06 : 0.05))
    const curve: Curve = {errors, unknown: null, largest: 300}
    expect(neededFor(curve, 64, 0.06).needed).toBe(300)
    expect(errorAt(curve, 300)).toBe(0.05)
    expect(errorAt(curve, 4096)).toBe(0.05)
  })

  it('says nothing of places where it is not known, and why', () => {
    const upTo1024 = FALLING.errors.map((error, at) => (2 ** (at + 3) > 1024 ? null : error))
    const curve: Curve = {errors: upTo1024, unknown: 'uncertain'}
    expect(errorAt(curve, 1024)).toMatchReference(1 / 32, 12)
    expect(errorAt(curve, 1025)).toBeNull()
    expect(neededFor(curve, 100, 0.1)).toMatchObject({needed: 400, unknown: null})
    expect(neededFor(curve, 100, 0.5)).toMatchObject({needed: null, unknown: 'uncertain'})
    expect(neededFor(curve, 2048, 0.01)).toMatchObject({needed: null, unknown: 'uncertain'})
  })

  it('carries errors on from where they are known', () => {
    const from64 = FALLING.errors.map((error, at) => (2 ** (at + 3) < 64 ? null : error))
    const curve: Curve = {errors: from64, unknown: 'denominator'}
    expect(neededFor(curve, 64, 1 / 8)).toMatchObject({needed: 400, unknown: null})
    expect(neededFor(curve, 32, null)).toMatchObject({needed: null, unknown: 'denominator'})
    // 64 features or fewer
    expect(neededFor(curve, 64, 0.01)).toMatchObject({needed: null, unknown: 'denominator'})
  })
})

const INPUT = {...sweep().input, head_dim: 5, value_dim: 7} as ErrorSweepPlan['input']
const PLAN = sweep({
  ...{input: INPUT, projections: ['iid'], num_features: [64], seq_lens: [31], scales: [1]},
  ...{replicates: 6, predictions: true, backend: 'auto'},
})

async function results(
  method: string,
  changes: Partial<ErrorSweepPlan> = {},
  options: Record<string, string | number> = {},
): Promise<ErrorSweepResult[]> {
  const methods = [methodOf(method, options)]
  const outcomes: CellOutcome[] = []
  for (const run of await cellsOf({...PLAN, methods, ...changes})) outcomes.push(await run())
  return outcomes.flatMap(outcome =>
    outcome.status === 'completed' ? [outcome.result as ErrorSweepResult] : [],
  )
}

const OTHER_PROPOSALS = {sampling: 'antithetic', proposals: 'zero', mixing: 'keys'}

describe('the predicted error of a cell', () => {
  // medians of six replicates of short inputs: of layers log10 of predicted over measured is 0.1 at worst
  const LIMIT = 0.12

  const covered: [string, boolean][] = [
    ['favor-pos', false],
    ['favor-pos', true],
    ['favor-hyp', false],
    ['oprf', false],
    ['saderf', false],
    ['aderf', false],
    ['sderf', true],
    ['favor-exp', false],
  ]
  it.each(sample(covered, 4, 1))(
    'is near the measured one: %s, causal %s',
    async (method, causal) => {
      const [result] = await results(method, {causal, targets: ['matched']})
      const ratio = result!.predicted_rel_l2! / result!.rel_l2.median!
      expect(Math.abs(Math.log10(ratio))).toBeLessThan(LIMIT)
      for (const {predicted_rel_l2, prediction_unknown} of result!.per_head) {
        if (predicted_rel_l2 === null) expect(prediction_unknown).toBe('uncertain')
        else expect(predicted_rel_l2).toBeGreaterThan(0)
      }
    },
  )

  it.each([
    ['favor-pos', ['not_asked']],
    ['rfa', [null, 'not_asked']], // against softmax it has no theory
    ['lara', ['not_asked']],
    ['elu', [null]],
  ])(
    'is left out where the plan does not ask for it, and the record says so: %s',
    async (method, unknown) => {
      const all = await results(method, {predictions: undefined})
      expect(all.map(({prediction_unknown}) => prediction_unknown)).toEqual(unknown)
      for (const {prediction_unknown, per_head, ...result} of all) {
        expect(result).toMatchObject({predicted_rel_l2: null, num_features_for_5_percent: null})
        expect(result).toMatchObject({predicted_bias_squared: null, last_rel_l2: null})
        const heads = per_head.map(own => own.prediction_unknown)
        expect(heads).toEqual(heads.map(() => prediction_unknown))
      }
    },
  )

  it('is in the cells that theory may cover, and in no others', async () => {
    const methods = ['favor-pos', 'elu'].map(name => methodOf(name))
    const cells = (await errorSweepGrid({...PLAN, methods, targets: ['raw']})).cells()
    expect(cells.map(cell => [cell.method, cell.predictions])).toEqual([
      ['favor-pos', true],
      ['elu', undefined],
    ])
  })

  const proposals: Record<string, string | number>[] = [
    {},
    {mis: 'bh'},
    {mis: 'biased'},
    {tAxis: 'proposal', alphaCoefficient: 2},
  ]
  it.each(sample(proposals, 2, 1))('is near the measured one of proposals: %o', async options => {
    const [result] = await results('lara', {scales: [0.7], replicates: 20}, options)
    const ratio = result!.predicted_rel_l2! / result!.rel_l2.median!
    expect(Math.abs(Math.log10(ratio))).toBeLessThan(LIMIT)
  })

  it('is that of sequences with hidden tokens, which say nothing', async () => {
    const [L, kept] = [40, 12]
    const vectors = (name: string) => normals(randomStream(3, name), 2 * L * 5)
    const query = vectors('query')
    // hidden queries are far from the others
    const isHidden = (token: number) => token % L >= kept
    query.forEach((_, at) => {
      if (isHidden(Math.floor(at / 5))) query[at] = 8
    })
    const arrayOf = (data: Float64Array): NdArray => ({
      ...{dtype: 'float32', shape: [2, 1, L, 5], data: Float32Array.from(data)},
    })
    const path = join(await newFolder(), 'padded.safetensors')
    const mask = Float32Array.from({length: 2 * L}, (_, token) => (isHidden(token) ? 0 : 1))
    await writeArrays(path, {
      ...{q: arrayOf(query), k: arrayOf(vectors('key')), v: arrayOf(vectors('value'))},
      key_mask: {dtype: 'float32', shape: [2, L], data: mask},
    })
    const names = {query: 'q', key: 'k', value: 'v'}
    const [result] = await results('lara', {
      ...{input: {kind: 'file', paths: [path], names}, seq_lens: null},
      ...{num_features: [8], scales: [0.4], replicates: 100},
    })
    const {median, low, high} = result!.rel_l2
    // an interval is 1.96 standard errors of a median of 100 draws; the prediction is one of 32
    const noise = ((high! - low!) / 2 / 1.96) * Math.sqrt(1 + 100 / 32)
    assertNear('rel L2', result!.predicted_rel_l2!, median!, noise)
  })

  it('is that of all tokens beyond their number, and missing for other proposals', async () => {
    const [first, second] = await results('lara', {num_features: [32, 4096]})
    expect(second!.predicted_rel_l2).toBe(first!.predicted_rel_l2)
    for (const [name, value] of Object.entries(OTHER_PROPOSALS)) {
      const [other] = await results('lara', {}, {[name]: value})
      expect(other!.predicted_rel_l2).toBeNull()
    }
  })

  it('is that of all sequences of a batch', async () => {
    const input = {...PLAN.input, batch: 3} as ErrorSweepPlan['input']
    const [result] = await results('favor-pos', {input})
    const ratio = result!.predicted_rel_l2! / result!.rel_l2.median!
    // errors of one sequence of three over the outputs of all would be 3^(-1/2) of that: a logarithm of -0.24
    expect(Math.abs(Math.log10(ratio))).toBeLessThan(LIMIT)
  })

  it('is near the measured one at large norms, too', async () => {
    const input = {...PLAN.input, head_dim: 32} as ErrorSweepPlan['input']
    const [result] = await results('oprf', {
      ...{input, scales: [2], num_features: [256], projections: ['orth']},
    })
    const ratio = result!.predicted_rel_l2! / result!.rel_l2.median!
    expect(Math.abs(Math.log10(ratio))).toBeLessThan(LIMIT)
  })

  it.each(sample(['iid', 'orth'] as const, 2, 1))(
    'has the bias of the measured one: %s',
    async projection => {
      const input = {...PLAN.input, heads: 2} as ErrorSweepPlan['input']
      const [result] = await results('rfa', {
        ...{input, targets: ['matched'], num_features: [32], replicates: 400},
        projections: [projection],
      })
      const {predicted_bias_squared: predicted, bias_squared, bias_squared_standard_error} = result!
      assertNear('bias^2', bias_squared!, predicted!, bias_squared_standard_error!)
      expect(predicted).toBeGreaterThan(0)
      const [positive] = await results('favor-pos', {scales: [0.3]})
      expect(positive!.predicted_bias_squared).toBeNull()
    },
  )

  it('is of other draws than the measured ones: the same seed gives another error', async () => {
    const [result] = await results('favor-pos', {replicates: 1, num_features: [1024]})
    expect(result!.predicted_rel_l2).not.toMatchReference(result!.rel_l2.median!, 6)
  })

  it('is missing where logits overflow float32, and says so at once', async () => {
    const [result] = await results('favor-pos', {scales: [1e8]})
    expect(result!.predicted_rel_l2).toBeNull()
    expect(result!.num_features_for_5_percent).toBeNull()
    expect(result!.prediction_unknown).toBe('overflow')
    expect(result!.per_head.map(own => own.prediction_unknown)).toEqual(Array(3).fill('overflow'))
  })

  it('is that of all heads by their squares', async () => {
    const [result] = await results('favor-pos')
    const errors = result!.per_head.flatMap(own => own.predicted_rel_l2 ?? [])
    expect(result!.predicted_rel_l2!).toBeGreaterThan(Math.min(...errors))
    expect(result!.predicted_rel_l2!).toBeLessThan(Math.max(...errors))
  })

  it('is missing where theory says nothing: sin/cos features, other projections, targets and options', async () => {
    const missing = async (...of: Parameters<typeof results>) =>
      (await results(...of)).map(result => result.predicted_rel_l2 === null)
    expect(await missing('favor-trig')).toEqual([true])
    expect(await missing('elu')).toEqual([true])
    expect(await missing('favor-pos', {projections: ['orth-sqrt-d', 'orth']})).toEqual([
      true,
      false,
    ])
    expect(await missing('favor-exp')).toEqual([true, false])
    expect(await missing('favor-pos', {}, {stabilizer: 'max'})).toEqual([true])
    expect(await missing('favor-pos', {num_features: [4, 8]})).toEqual([true, false])
  })

  it('is zero where every query sees one key', async () => {
    const input = {...PLAN.input, key_len: 1} as ErrorSweepPlan['input']
    const [result] = await results('favor-pos', {input})
    // outputs are that key's value, up to rounding of its weight over itself
    expect(result!.predicted_rel_l2).toBeLessThan(2 ** -40)
  })
})
