import {describe, expect, it} from 'vitest'
import {type ClaimVerdict, withoutTraining} from '../../../../src/claims/claim.js'
import {claimsNamed} from '../../../../src/claims/claims/index.js'
import {bitsOf, differenceOf, trainedRow} from '../../../../src/claims/evidence/trainings.js'
import {outcomes} from '../../../../src/claims/outcome.js'
import {ClaimRuns} from '../../../../src/claims/runs.js'
import {trainGrid} from '../../../../src/experiments/train/grid.js'
import type {TrainCell, TrainPlan} from '../../../../src/experiments/train/schema.js'
import {claimOf} from '../../../helpers/claims.js'
import {type MadeRun, trainRecordOf} from '../../../helpers/train-records.js'

/** What is true of a cell: seeds differ by 0.01 times {@link SPREAD}. */
type Truth = Pick<MadeRun, 'accuracy' | 'bits' | 'result'>
const SPREAD = [0, 1, -1]

/** The outcome of a claim where every run comes out as `truthOf` says. */
async function outcomeWhere(id: string, truthOf: (cell: TrainCell) => Truth) {
  const claim = await claimOf(id)
  const runs = new Map<string, ReturnType<typeof trainRecordOf>[]>()
  for (const [name, plan] of Object.entries(await claim.plans({effort: 'full', seed: 0}))) {
    const cells = [...(await trainGrid(plan as TrainPlan)).cells()]
    runs.set(
      name,
      cells.map(cell => trainRecordOf({...cell, cell, ...truthOf(cell)})),
    )
  }
  const [found] = await outcomes([claim], new ClaimRuns(runs), () => [])
  return found!
}

const near = (value: number, {run}: TrainCell, at = 0) => value + 1e-4 * SPREAD[(run + at) % 3]!

describe('H9', () => {
  const cases: [ClaimVerdict, rfa: number, gate: number, spread: number][] = [
    ['depends', 3.3, 2.7, 0],
    ['depends', 2.9, 2.7, 0],
    ['depends', 3.3, 3.4, 0],
    ['inconclusive', 3.04, 3.06, 1000],
  ]
  it.each(cases)('%s where rfa has %s bits and the gate %s', async (verdict, rfa, gate, spread) => {
    const bits: Record<string, number> = {softmax: 3, rfa, 'rfa-gate': gate}
    const found = await outcomeWhere('H9', cell => ({
      accuracy: 0.5,
      bits: near(bits[cell.method]!, cell) + spread * near(0, cell, cell.method.length),
    }))
    expect(found.verdict).toBe(verdict)
    expect(found.statement).toContain('width 64')
    expect(found.quantities[1]!.name).toBe('bits per character of rfa-gate over softmax')
    if (spread === 0) expect(found.quantities[1]!.value).toMatchReference(gate - 3, 10)
  })
})

describe('H17', () => {
  const cases: [ClaimVerdict, never: [test: number, fresh: number]][] = [
    ['holds', [3, 3]],
    ['refuted', [1, 1]],
    ['depends', [1, 3]],
  ]
  it.each(cases)(
    '%s where models without redrawing have %s bits, and others 2',
    async (verdict, [test, fresh]) => {
      const found = await outcomeWhere('H17', cell => {
        const of = (never: number) => ({
          accuracy: 0.5,
          bits: near(cell.redraw === 0 ? never : 2, cell, cell.redraw),
        })
        return {...of(test), result: {fresh: of(fresh)}}
      })
      expect(found.verdict).toBe(verdict)
      expect(found.quantities).toHaveLength(8)
    },
  )
})

describe('H32', () => {
  const cases: [ClaimVerdict, accuracies: [two: number, some: number, many: number]][] = [
    ['holds', [0.2, 0.25, 0.3]],
    ['refuted', [0.39, 0.39, 0.41]],
    ['depends', [0.2, 0.3, 0.395]],
  ]
  it.each(cases)(
    '%s with accuracies of %j, and 0.4 of softmax',
    async (verdict, [two, some, many]) => {
      const scores: Record<string, number> = {null: 0.4, 2: two, 16: some, 64: many}
      const found = await outcomeWhere('H32', cell => ({
        accuracy: near(scores[`${cell.num_features}`]!, cell, cell.num_features ?? 0),
      }))
      expect(found.verdict).toBe(verdict)
      expect(found.statement).toContain('softmax 40.0 %')
    },
  )

  it('cannot be measured where seeds differ by more than methods', async () => {
    const found = await outcomeWhere('H32', cell => ({
      accuracy: 0.38 + 500 * near(0, cell, cell.num_features ?? 0),
    }))
    expect(found.verdict).toBe('not_measurable')
  })
})

describe('H33', () => {
  const cases: [ClaimVerdict, elu: number, favor: number][] = [
    ['holds', 0.5, 0.1],
    ['refuted', 0.95, 0.97],
    ['depends', 0.95, 0.1],
  ]
  it.each(cases)('%s where elu recalls %s and favor-pos %s', async (verdict, elu, favor) => {
    const scores: Record<string, number> = {taylor: 0.9, elu, 'favor-pos': favor}
    const found = await outcomeWhere('H33', cell => ({
      accuracy: near(scores[cell.method]!, cell, cell.method.length),
    }))
    expect(found.verdict).toBe(verdict)
  })

  it('is not decided by states of different sizes', async () => {
    const found = await outcomeWhere('H33', cell => ({
      accuracy: 0.9,
      result: {state_floats: cell.method === 'elu' ? 4160 : 9945},
    }))
    expect(found).toMatchObject({
      verdict: 'inconclusive',
      statement: expect.stringContaining('states differ: 9945, 4160, 9945 numbers'),
    })
  })
})

describe('claims that take training', () => {
  it('are quoted where no model is to be trained', async () => {
    const claims = await claimsNamed(['H9', 'H17', 'H33', 'H6', 'H23'])
    const plain = claims.map(withoutTraining)
    expect(plain.map(({kind}) => kind)).toEqual(['quoted', 'quoted', 'quoted', 'tested', 'quoted'])
    const [h9] = await outcomes(plain, new ClaimRuns(new Map()), () => [])
    expect(h9).toMatchObject({
      verdict: 'not_measurable',
      statement: expect.stringContaining('rfa claims H9 --with-training'),
    })
  })

  it('count a run that diverged as a model that knows nothing', () => {
    const records = [0, 1].map(run =>
      trainRecordOf({method: 'elu', rate: 4e-3, run, accuracy: run === 0 ? 0.5 : null, bits: 2}),
    )
    const row = trainedRow(new ClaimRuns(new Map([['r', records]])), 'r', 'elu')
    expect(bitsOf(row)).toEqual([2, Math.log2(24)])
  })

  it('compare runs with the same number', () => {
    const {estimate, above, below} = differenceOf([1, 2, 3.5], [0, 1, 2])
    expect(estimate.value).toMatchReference(7 / 6, 12)
    // t = (7/6) / (1/6) = 7 with two degrees of freedom
    expect(above(0)).toMatchReference((1 - 7 / Math.sqrt(51)) / 2, 10)
    expect(above(0) + below(0)).toMatchReference(1, 12)
  })
})
