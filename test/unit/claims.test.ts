import {describe, expect, it} from 'vitest'
import type {ClaimVerdict, TestedClaim} from '../../src/claims/claim.js'
import {claimNamed} from '../../src/claims/claims/index.js'
import {outcomes} from '../../src/claims/outcome.js'
import {ClaimRuns} from '../../src/claims/runs.js'
import type {BenchPlan} from '../../src/experiments/bench/schema.js'
import type {VariancePlan} from '../../src/experiments/variance/schema.js'
import type {CellRecord} from '../../src/results/record.js'
import {Z95} from '../../src/stats/index.js'
import {fourierVariance} from '../../src/theory/kernels.js'
import {timedInTurns} from '../helpers/records/bench.js'
import {type CompletedVariance, variance} from '../helpers/records/variance.js'

type Runs = Record<string, CellRecord[]>

/** The verdict of a claim on records, by itself. */
async function verdictOn(id: string, runs: Runs): Promise<ClaimVerdict> {
  return (await outcomeOn(id, runs)).verdict
}

async function outcomeOn(id: string, runs: Runs) {
  const claim = await claimNamed(id)
  const [found] = await outcomes([claim], new ClaimRuns(new Map(Object.entries(runs))), () => [])
  return found!
}

async function plansOf(id: string) {
  return ((await claimNamed(id)) as TestedClaim).plans({effort: 'quick', seed: 0})
}

/** Half the width of an interval of the logarithm of a ratio of {@link varianceRecords}. */
const REACH = Z95 * Math.hypot(0.02, 0.02)

interface Pair {
  method: string
  numFeatures: number
  norm: number
  angle: number
  projection: string
}

/** Records of a variance plan as they come out where `varianceOf` is what is true, within 2 %. */
function varianceRecords(
  plan: VariancePlan,
  varianceOf: (pair: Pair) => number,
): CompletedVariance[] {
  const axes = plan.methods.flatMap(({method}) =>
    plan.num_features.flatMap(num_features =>
      plan.norms.flatMap(norm =>
        plan.angles_deg.map(angle_deg => ({method, num_features, norm, angle_deg})),
      ),
    ),
  )
  return axes.map(axis => {
    const record = variance(axis)
    const [row] = record.result.per_projection
    const pair = {
      ...axis,
      numFeatures: axis.num_features,
      angle: axis.angle_deg,
      projection: 'iid',
    }
    const rows = plan.projections.map(projection => ({
      ...row!,
      projection,
      variance: varianceOf({...pair, projection}),
      variance_relative_standard_error: 0.02,
    }))
    const closed_form_variance = varianceOf(pair)
    return {...record, result: {...record.result, closed_form_variance, per_projection: rows}}
  })
}

/** Records of a benchmark whose times are `nsOf`, but for independent noise in each of four turns of three processes. @param noise - its standard deviation as a share */
function benchRecords(
  plan: BenchPlan,
  nsOf: (method: string, length: number) => number,
  noise?: number,
) {
  return plan.methods.flatMap(({method}) =>
    plan.seq_lens.map(seq_len => {
      const live_bytes = method === 'softmax' ? seq_len ** 2 : 100 * seq_len
      return timedInTurns({method, seq_len}, nsOf(method, seq_len), {live_bytes}, noise)
    }),
  )
}

describe('H3 and H14, where theory alone decides', () => {
  it.each([
    ['H3', 'holds'],
    ['H14', 'depends'],
  ])('%s %s', async (id, verdict) => {
    expect(await verdictOn(id, {})).toBe(verdict)
  })

  it('counts 3.2 % for 64 vectors, as the state has 2 x 64 x 65 numbers', async () => {
    const {quantities} = await outcomeOn('H3', {})
    expect(quantities[0]!.value).toBe((2 * 64 * 65) / (2048 * 128))
  })
})

describe('H6', async () => {
  const [[name, plan]] = Object.entries(await plansOf('H6')) as [[string, VariancePlan]]
  const truth = ({numFeatures, angle}: Pair) => {
    const turn = (angle * Math.PI) / 180
    return fourierVariance(
      Float64Array.of(1, 0),
      Float64Array.of(Math.cos(turn), Math.sin(turn)),
      numFeatures,
    )
  }
  const off = (factor: (pair: Pair) => number) =>
    varianceRecords(plan, truth).map(record => {
      const {num_features: numFeatures, norm, angle_deg: angle, method} = record.cell
      const [row] = record.result.per_projection
      const wrong = factor({numFeatures, norm, angle, method, projection: 'iid'}) * row!.variance!
      return {...record, result: {...record.result, per_projection: [{...row!, variance: wrong}]}}
    })

  it('holds where variances are the formula', async () => {
    expect(await verdictOn('H6', {[name]: off(() => 1)})).toBe('holds')
  })

  it('is refuted where one is 20 % off', async () => {
    const one = ({numFeatures, angle}: Pair) => (numFeatures === 16 && angle === 90 ? 1.2 : 1)
    expect(await verdictOn('H6', {[name]: off(one)})).toBe('refuted')
  })

  it('is refuted where the exponent is another', async () => {
    expect(await verdictOn('H6', {[name]: off(({numFeatures}) => numFeatures ** 0.1)})).toBe(
      'refuted',
    )
  })

  it('tells of a variance that was withheld, with the draws that it takes', async () => {
    const [first, ...others] = off(() => 1)
    const [row] = first!.result.per_projection
    const withheld = {...row!, variance: null, withheld: 'too few', needed_replicates: 77_000}
    const record = {...first!, result: {...first!.result, per_projection: [withheld]}}
    const found = await outcomeOn('H6', {[name]: [record, ...others]})
    expect(found.verdict).toBe('inconclusive')
    expect(found.statement).toContain('it takes 77000 draws')
  })
})

describe('H10', async () => {
  const [[name, plan]] = Object.entries(await plansOf('H10')) as [[string, VariancePlan]]

  it('depends on the angle, where measurements are the closed forms', async () => {
    const found = await outcomeOn('H10', {[name]: varianceRecords(plan, () => 0.1)})
    expect(found.verdict).toBe('depends')
    expect(found.statement).toContain('true at 130, 150, 170, 180 degrees; at 100 and 110 degrees')
  })

  it('is refuted where they are not', async () => {
    const records = varianceRecords(plan, () => 0.1)
    const [first, ...others] = records
    const result = {...first!.result, closed_form_variance: 0.2}
    expect(await verdictOn('H10', {[name]: [{...first!, result}, ...others]})).toBe('refuted')
  })
})

describe('H13', async () => {
  const plans = (await plansOf('H13')) as Record<string, VariancePlan>
  const records = (factorOf: (norm: number) => number) =>
    Object.fromEntries(
      Object.entries(plans).map(([name, plan]) => [
        name,
        varianceRecords(plan, ({method, norm}) => (method === 'favor-hyp' ? factorOf(norm) : 1)),
      ]),
    )
  // |x + y|^2 of two vectors of norm r at 60 degrees is 3 r^2
  const truth = (norm: number) => 1 - Math.exp(-3 * norm ** 2)

  it('holds with the factor of the formula', async () => {
    expect(await verdictOn('H13', records(truth))).toBe('holds')
  })

  it('compares as many features: at as many vectors the ratio would be half of the formula', async () => {
    // two features of a vector on one side, one on the other: variances of one feature over their number
    const perVector = Object.fromEntries(
      Object.entries(plans).map(([name, plan]) => [
        name,
        varianceRecords(plan, ({method, norm, numFeatures}) =>
          method === 'favor-hyp' ? truth(norm) / (2 * numFeatures) : 1 / numFeatures,
        ),
      ]),
    )
    const {verdict, quantities} = await outcomeOn('H13', perVector)
    expect(verdict).toBe('holds')
    for (const {value, expected, low, high} of quantities) {
      expect(value! / expected!).toMatchReference(1, 12)
      expect(Math.log(high! / low!)).toMatchReference(2 * REACH, 12)
    }
  })

  it('is refuted with any other', async () => {
    for (const factorOf of [(norm: number) => 1.2 * truth(norm), () => 1]) {
      expect(await verdictOn('H13', records(factorOf))).toBe('refuted')
    }
  })
})

describe('H24', async () => {
  const [[name, plan]] = Object.entries(await plansOf('H24')) as [[string, VariancePlan]]
  const records = varianceRecords(plan, ({method}) => (method === 'oprf' ? 0.01 : 0.1))

  it('holds where measurements are the closed forms, and has both', async () => {
    const {verdict, quantities, statement} = await outcomeOn('H24', {[name]: records})
    expect([verdict, statement]).toEqual(['holds', expect.stringContaining('e^61.2 at 100')])
    const measured = quantities.filter(one => one.name.startsWith('measured'))
    expect(measured.map(({value}) => value!.toFixed(3))).toEqual(['2.303', '2.303', '2.303'])
    for (const {value, expected, low, high} of measured) {
      expect(value).toMatchReference(expected!, 12)
      expect(high! - low!).toMatchReference(2 * REACH, 12)
    }
  })

  it('is refuted where they are not', async () => {
    const [first, ...others] = records
    const result = {...first!.result, closed_form_variance: 0.2}
    expect(await verdictOn('H24', {[name]: [{...first!, result}, ...others]})).toBe('refuted')
  })
})

describe('H26', async () => {
  const [[name, plan]] = Object.entries(await plansOf('H26')) as [[string, VariancePlan]]
  const records = (variances: Record<string, number>, others: number) => ({
    [name]: varianceRecords(plan, ({projection}) => variances[projection] ?? others),
  })

  it.each<[ClaimVerdict, Record<string, number>, number]>([
    ['holds', {simplex: 1}, 2],
    ['depends', {simplex: 1, sobol: 0.5}, 2],
    ['refuted', {simplex: 1}, 0.5],
    ['inconclusive', {simplex: 1, orth: 1.01}, 2],
  ])('%s', async (verdict, variances, others) => {
    expect(await verdictOn('H26', records(variances, others))).toBe(verdict)
  })

  it('says what is not settled', async () => {
    const variances = {simplex: 1, sobol: 1.01, orth: 0.5}
    const {statement, quantities} = await outcomeOn('H26', records(variances, 2))
    for (const {low, high} of quantities) {
      expect(Math.log(high! / low!)).toMatchReference(2 * REACH, 12)
    }
    expect(statement).toContain(
      'lower than iid, antithetic, simplex-plus; higher than orth; not settled against sobol',
    )
  })

  it('says where, if that is not everywhere', async () => {
    const some = varianceRecords(plan, ({projection, norm, numFeatures}) =>
      projection === 'simplex' ? 1 : projection === 'orth' && norm === 1 ? numFeatures / 16 : 2,
    )
    const {statement} = await outcomeOn('H26', {[name]: some})
    expect(statement).toContain('higher than orth (M = 8, norm 1)')
    expect(statement).toContain('orth (M = 8, norm 0.4; M = 20, norm 0.4; M = 20, norm 1)')
  })
})

describe('H4 and H5', async () => {
  const plan = (await plansOf('H5')).lengths as BenchPlan
  const exact = (method: string) => method.startsWith('softmax')
  const times = (power: (method: string) => number, noise?: number) => ({
    lengths: benchRecords(plan, (method, length) => 100 * length ** power(method), noise),
  })
  const asTheory = (method: string) => (exact(method) ? 2 : 1)

  it('hold where exact forms are quadratic and the others linear', async () => {
    expect(await verdictOn('H4', times(asTheory))).toBe('holds')
    expect(await verdictOn('H5', times(asTheory))).toBe('holds')
  })

  it('are refuted where all are quadratic, or the speed-up shrinks', async () => {
    const shrinking = (method: string) => (exact(method) ? 1 : 2)
    const quadratic = () => 2
    expect(await verdictOn('H5', times(quadratic))).toBe('refuted')
    expect(await verdictOn('H4', times(shrinking))).toBe('refuted')
  })

  it('are not decided where times are those of a busy machine', async () => {
    expect(await verdictOn('H5', times(asTheory, 1))).toBe('inconclusive')
    expect(await verdictOn('H4', times(asTheory, 3))).toBe('inconclusive')
  })

  it('are decided where what disturbed the machine disturbed all alike', async () => {
    const {lengths} = times(asTheory)
    const disturbed = lengths.map(record => {
      const samples_ns = record.result.samples_ns.map((ns, turn) => (turn % 3 ? ns : 4 * ns))
      return {...record, result: {...record.result, samples_ns}}
    })
    expect(await verdictOn('H4', {lengths: disturbed})).toBe('holds')
    expect(await verdictOn('H5', {lengths: disturbed})).toBe('holds')
  })

  it('are not decided by one process', async () => {
    const {lengths} = times(asTheory)
    const few = lengths.map(record => ({
      ...record,
      result: {...record.result, process_turns: [12]},
    }))
    const {verdict, statement} = await outcomeOn('H5', {lengths: few})
    expect(verdict).toBe('inconclusive')
    expect(statement).toContain('times were taken in one process; it takes several')
  })
})

describe('H21 and H22', async () => {
  const plan = {...((await plansOf('H21')).samplers as BenchPlan), seq_lens: [784, 1568]}
  const samplers = (factorOf: (method: string, length: number) => number) => ({
    samplers: benchRecords(plan, (method, length) => 1e6 * factorOf(method, length)),
  })
  /** @param long - at the longer length. Default: the same */
  const one =
    (own: string) =>
    (factor: number, long = factor) =>
      samplers((method, length) => (method !== own ? 1 : length > 1000 ? long : factor))
  const [ra, lara] = [one('ra'), one('lara')]

  it.each<[string, ClaimVerdict, ReturnType<typeof ra>]>([
    ['H21', 'holds', ra(2)],
    ['H21', 'refuted', ra(4)],
    ['H21', 'inconclusive', ra(2.8)],
    ['H21', 'depends', ra(9, 2)],
    ['H22', 'holds', lara(1.1)],
    ['H22', 'refuted', lara(2)],
    ['H22', 'inconclusive', lara(1.25)],
    ['H22', 'depends', lara(3, 1)],
  ])('%s %s', async (id, verdict, runs) => {
    expect(await verdictOn(id, runs)).toBe(verdict)
  })

  it('tells ratios that are settled, each with its interval, and no other', async () => {
    const {statement, quantities} = await outcomeOn('H22', lara(1.25, 2))
    const [, low, high] = /: 2\.\d\dx \[(\d\.\d\d), (\d\.\d\d)\] at 1568; not settled at 784/.exec(
      statement,
    )!
    const {value, low: least, high: most} = quantities[1]!
    expect(value!.toPrecision(3)).toMatch(/^2\.0/)
    expect([low, high]).toEqual([least!.toPrecision(3), most!.toPrecision(3)])
  })
})

describe('H28', async () => {
  const [[name, plan]] = Object.entries(await plansOf('H28')) as [[string, BenchPlan]]
  /** Times of Reformer as a multiple of those of positive features, at rates that are so many times theirs. */
  const runs = (ratio: number, rates: number) => ({
    [name]: plan.methods.map(({method}) => {
      const [median, work_flops] =
        method === 'reformer' ? [1e6 * ratio, 1e8 * ratio * rates] : [1e6, 1e8]
      const [seq_len] = plan.seq_lens
      return timedInTurns({method, seq_len: seq_len!}, median, {work_flops})
    }),
  })

  it('is not measurable where one side works at another rate, whatever the times', async () => {
    for (const rates of [1 / 5, 5]) {
      const found = await outcomeOn('H28', runs(2, rates))
      expect(found.verdict).toBe('not_measurable')
      expect(found.statement).toContain('times would compare programs')
      expect(found.tests).toEqual([])
    }
  })

  it.each<[ClaimVerdict, number]>([
    ['holds', 2],
    ['refuted', 5],
    ['refuted', 1],
    ['inconclusive', 1.4],
  ])('%s at %fx and comparable rates', async (verdict, ratio) => {
    expect(await verdictOn('H28', runs(ratio, 1 / 2))).toBe(verdict)
  })

  it('counts operations of a token of the paper, by hand', async () => {
    const {quantities} = await outcomeOn('H28', runs(2, 1))
    const counted = quantities.find(({name: what}) => what.startsWith('operations'))
    const [exp, chunk] = [10, 64]
    // 8 rounds: 128 keys of 64 entries in scores and sums, and 96 rotations to hash by
    const reformer = 8 * (128 * (2 * (64 + 64) + exp) + 96 * (2 * 64 + 2))
    // 256 vectors: queries and keys are projected, keys summed, queries read, half of the products inside chunks masked
    const features = 2 * 2 * 256 * 64 + 2 * exp * 256 + 2 * 2 * 256 * 65 + chunk * (256 + 64 + 1)
    expect(counted!.value).toMatchReference(reformer / features, 12)
  })
})
